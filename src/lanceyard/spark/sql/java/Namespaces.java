package io.lanceyard.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;

/** The namespaces of a catalog. */
abstract class Namespaces implements SupportsNamespaces {
  abstract Server server();

  @Override
  public String[] defaultNamespace() {
    return new String[0];
  }

  @Override
  public String[][] listNamespaces() throws NoSuchNamespaceException {
    return listNamespaces(new String[0]);
  }

  @Override
  public String[][] listNamespaces(String[] parent) throws NoSuchNamespaceException {
    try {
      return server().list(parent, "list", "namespaces").stream()
          .map(child -> with(parent, child))
          .toArray(String[][]::new);
    } catch (Refusal refusal) {
      throw refusal.unless(refusal.isNotFound(), () -> new NoSuchNamespaceException(parent));
    }
  }

  @Override
  public boolean namespaceExists(String[] namespace) {
    if (namespace.length == 0) {
      return true;
    }
    try {
      server().operate("namespace", namespace, "exists", Server.object());
      return true;
    } catch (Refusal refusal) {
      if (refusal.isNotFound()) {
        return false;
      }
      throw refusal;
    }
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace)
      throws NoSuchNamespaceException {
    if (namespace.length == 0) {
      return new LinkedHashMap<>();
    }
    try {
      JsonNode found = server().operate("namespace", namespace, "describe", Server.object());
      return Server.texts(found.path("properties"));
    } catch (Refusal refusal) {
      throw refusal.unless(refusal.isNotFound(), () -> new NoSuchNamespaceException(namespace));
    }
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> properties)
      throws NamespaceAlreadyExistsException {
    ObjectNode request = Server.object();
    request.set("properties", Server.JSON.valueToTree(properties));
    try {
      server().operate("namespace", namespace, "create", request);
    } catch (Refusal refusal) {
      throw refusal.unless(
          refusal.code == Refusal.NAMESPACE_EXISTS,
          () -> new NamespaceAlreadyExistsException(namespace));
    }
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes)
      throws NoSuchNamespaceException {
    ObjectNode request = Server.object();
    ObjectNode put = request.putObject("set");
    ArrayNode unset = request.putArray("unset");
    for (NamespaceChange change : changes) {
      if (change instanceof NamespaceChange.SetProperty) {
        NamespaceChange.SetProperty given = (NamespaceChange.SetProperty) change;
        put.put(given.property(), given.value());
      } else {
        unset.add(((NamespaceChange.RemoveProperty) change).property());
      }
    }
    try {
      server().operate("namespace", namespace, "alter", request);
    } catch (Refusal refusal) {
      throw refusal.unless(refusal.isNotFound(), () -> new NoSuchNamespaceException(namespace));
    }
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade)
      throws NoSuchNamespaceException, NonEmptyNamespaceException {
    ObjectNode request = Server.object();
    request.put("behavior", cascade ? "Cascade" : "Restrict");
    try {
      server().operate("namespace", namespace, "drop", request);
      return true;
    } catch (Refusal refusal) {
      if (refusal.code == Refusal.NAMESPACE_NOT_EMPTY) {
        throw new NonEmptyNamespaceException(namespace);
      }
      throw refusal.unless(refusal.isNotFound(), () -> new NoSuchNamespaceException(namespace));
    }
  }

  static String[] with(String[] parent, String child) {
    String[] id = Arrays.copyOf(parent, parent.length + 1);
    id[parent.length] = child;
    return id;
  }
}
