package io.lanceyard.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The server of a catalog: operations of the REST protocol, and what Spark needs besides. */
final class Server {
  static final ObjectMapper JSON = new ObjectMapper();
  private static final String DELIMITER = "$";

  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .executor(Runnable::run) // there is little to do, and another thread takes time to wake
          .build();
  private final String address;
  private final String token;

  Server(String address, String token) {
    this.address = address.replaceAll("/+$", "");
    this.token = token;
  }

  static ObjectNode object() {
    return JSON.createObjectNode();
  }

  static ObjectNode object(Map<String, String> texts) {
    ObjectNode object = object();
    texts.forEach(object::put);
    return object;
  }

  static ArrayNode array(String... texts) {
    ArrayNode array = JSON.createArrayNode();
    for (String text : texts) {
      array.add(text);
    }
    return array;
  }

  static Map<String, String> texts(JsonNode object) {
    Map<String, String> found = new LinkedHashMap<>();
    if (object != null) {
      object.properties().forEach(each -> found.put(each.getKey(), each.getValue().asText()));
    }
    return found;
  }

  /** Carries out an operation of the protocol on a namespace or a table. */
  JsonNode operate(String kind, String[] id, String operation, JsonNode body) {
    return send("POST", path(kind, id) + "/" + operation, body);
  }

  /** What Spark alone asks for. */
  JsonNode ask(String question, JsonNode body) {
    return send("POST", "/spark/" + question, body);
  }

  /** All names of a list, page by page. */
  List<String> list(String[] id, String operation, String field) {
    List<String> names = new ArrayList<>();
    String page = null;
    do {
      String query = page == null ? "" : "?page_token=" + encoded(page);
      JsonNode answer = send("GET", path("namespace", id) + "/" + operation + query, null);
      answer.path(field).forEach(name -> names.add(name.asText()));
      page = answer.path("page_token").asText("");
    } while (page != null && !page.isEmpty() && !page.equals("null"));
    return names;
  }

  private static String path(String kind, String[] id) {
    String joined = id.length == 0 ? DELIMITER : String.join(DELIMITER, id);
    return "/v1/" + kind + "/" + encoded(joined);
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  private JsonNode send(String method, String path, JsonNode body) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(address + path));
    if (token != null) {
      request.header("x-api-key", token);
    }
    if (body == null) {
      request.method(method, HttpRequest.BodyPublishers.noBody());
    } else {
      request.header("content-type", "application/json");
      request.method(method, HttpRequest.BodyPublishers.ofString(body.toString()));
    }
    try {
      HttpResponse<String> response =
          http.send(request.build(), HttpResponse.BodyHandlers.ofString());
      return read(response);
    } catch (IOException failure) {
      throw new IllegalStateException(
          "the server of the catalog at " + address + " does not answer (" + failure
              + "): it ends with the Python process that started it", failure);
    } catch (InterruptedException interruption) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while the catalog was asked", interruption);
    }
  }

  private JsonNode read(HttpResponse<String> response) throws IOException {
    String text = response.body();
    if (response.statusCode() < 300) {
      return text.isEmpty() ? object() : JSON.readTree(text);
    }
    try {
      JsonNode said = JSON.readTree(text);
      throw new Refusal(said.path("code").asInt(-1), said.path("error").asText(text));
    } catch (com.fasterxml.jackson.core.JsonProcessingException unreadable) {
      throw new Refusal(-1, "status " + response.statusCode() + " from " + address + ": " + text);
    }
  }
}
