import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.IHMSHandler;
import org.apache.hadoop.hive.metastore.api.ThriftHiveMetastore;
import org.apache.thrift.TProcessor;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TTransportFactory;

/**
 * A Hive Metastore that listens on loopback only, which Hive 2 and 3 cannot, with the tables for
 * locks, which are not made on demand.
 *
 * <p>Classes that moved or changed between Hive 2.3, 3.1 and 4.0 are looked up by name.
 */
public final class LoopbackMetastore {
  private static final String HIVE = "org.apache.hadoop.hive.";
  private static final String OPTION = "javax.jdo.option.Connection";
  private static final String URL = OPTION + "URL";
  private static final String SYNTAX_ERROR = "42601";

  /** What Derby and PostgreSQL say of a table that is not there. */
  private static final Set<String> NO_SUCH_TABLE = Set.of("42X05", "42P01");

  private LoopbackMetastore() {}

  /** Arguments: the port (or {@code prepare}), the parent. */
  public static void main(String[] arguments) {
    PrintStream output = System.out;
    System.setOut(System.err); // Logs go there, and the output is read for one line only.
    try {
      endWith(Long.parseLong(arguments[1]));
      run(arguments[0], output);
      System.exit(0);
    } catch (Throwable failure) {
      failure.printStackTrace();
      System.exit(1); // Threads of Hive would keep it alive.
    }
  }

  private static void run(String port, PrintStream output) throws Exception {
    Configuration conf = configuration();
    if (port.equals("prepare")) {
      prepareLocks(conf);
      handler(conf);
      stop(conf.get(URL));
    } else {
      moveWarehouse(conf);
      serve(conf, handler(conf), Integer.parseInt(port), output);
    }
  }

  /** Do not outlive the process that asked for this, however that ends. */
  private static void endWith(long parent) {
    ProcessHandle.of(parent)
        .map(ProcessHandle::onExit)
        .orElseThrow()
        .thenRun(() -> Runtime.getRuntime().halt(0));
  }

  private static Configuration configuration() throws Exception {
    Class<?> newer = find("metastore.conf.MetastoreConf");
    if (newer != null) {
      return (Configuration) newer.getMethod("newMetastoreConf").invoke(null);
    }
    return (Configuration) find("conf.HiveConf").getConstructor().newInstance();
  }

  /**
   * Hive 4 has this among its tests only; it needs no locks for what we do. On PostgreSQL it gets
   * as far as the first type of Derby's; {@code locks.sql} has the rest.
   */
  private static void prepareLocks(Configuration conf) throws Exception {
    Class<?> preparation = find("metastore.txn.TxnDbUtil");
    if (preparation == null) {
      return;
    }
    try {
      named(preparation, "prepDb", 1).invoke(null, conf);
    } catch (InvocationTargetException failure) {
      if (!(failure.getCause() instanceof SQLException)
          || !((SQLException) failure.getCause()).getSQLState().equals(SYNTAX_ERROR)) {
        throw failure;
      }
    }
  }

  private static IHMSHandler handler(Configuration conf) throws Exception {
    Class<?> newer = find("metastore.HMSHandler");
    if (newer != null) {
      Object made = constructor(newer, 2).newInstance("loopback", conf);
      Class<?> factory = find("metastore.HMSHandlerProxyFactory");
      return (IHMSHandler) named(factory, "getProxy", 3).invoke(null, conf, made, false);
    }
    Object made =
        constructor(find("metastore.HiveMetaStore$HMSHandler"), 3)
            .newInstance("loopback", conf, false);
    Class<?> store = find("metastore.HiveMetaStore");
    return (IHMSHandler) named(store, "newRetryingHMSHandler", 2).invoke(null, made, conf);
  }

  private static void serve(Configuration conf, IHMSHandler handler, int port, PrintStream output)
      throws Exception {
    ServerSocket socket = new ServerSocket();
    socket.setReuseAddress(true);
    socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 128);
    TThreadPoolServer.Args arguments =
        new TThreadPoolServer.Args(new TServerSocket(socket))
            .protocolFactory(new TBinaryProtocol.Factory())
            .minWorkerThreads(4)
            .maxWorkerThreads(200);
    if (conf.getBoolean("hive.metastore.sasl.enabled", false)) {
      askForTickets(arguments, conf, handler);
    } else {
      believe(arguments, handler);
    }
    TThreadPoolServer server = new TThreadPoolServer(arguments);
    output.println("listening at " + socket.getLocalPort());
    output.flush();
    server.serve();
  }

  /** Clients are who they say they are. */
  private static void believe(TThreadPoolServer.Args arguments, IHMSHandler handler)
      throws Exception {
    Class<?> transports = find("thrift.TUGIContainingTransport$Factory");
    if (transports == null) {
      transports = find("metastore.security.TUGIContainingTransport$Factory");
    }
    Class<?> processors = find("metastore.TUGIBasedProcessor");
    arguments
        .processor((TProcessor) constructor(processors, 1).newInstance(handler))
        .transportFactory((TTransportFactory) transports.getConstructor().newInstance());
  }

  /** Clients prove who they are, by Kerberos; as Hive 2.3 does it. */
  private static void askForTickets(
      TThreadPoolServer.Args arguments, Configuration conf, IHMSHandler handler) throws Exception {
    Object bridge = named(find("shims.ShimLoader"), "getHadoopThriftAuthBridge", 0).invoke(null);
    Object server =
        named(find("thrift.HadoopThriftAuthBridge"), "createServer", 2)
            .invoke(
                bridge,
                conf.get("hive.metastore.kerberos.keytab.file"),
                conf.get("hive.metastore.kerberos.principal"));
    Object properties =
        named(find("metastore.MetaStoreUtils"), "getMetaStoreSaslProperties", 1)
            .invoke(null, conf);
    TProcessor processor = new ThriftHiveMetastore.Processor<>(handler);
    Class<?> kind = find("thrift.HadoopThriftAuthBridge$Server");
    arguments
        .processor((TProcessor) named(kind, "wrapProcessor", 1).invoke(server, processor))
        .transportFactory(
            (TTransportFactory)
                named(kind, "createTransportFactory", 1).invoke(server, properties));
  }

  /** The database was prepared elsewhere, and knows where its own warehouse was. */
  private static void moveWarehouse(Configuration conf) throws SQLException {
    List<String> statements =
        List.of(
            "update \"DBS\" set \"DB_LOCATION_URI\" = ? where \"NAME\" = 'default'",
            "update \"CTLGS\" set \"LOCATION_URI\" = ? where \"NAME\" = 'hive'");
    try (Connection connection =
        DriverManager.getConnection(
            conf.get(URL), conf.get(OPTION + "UserName"), conf.get(OPTION + "Password"))) {
      for (String each : statements) {
        try (PreparedStatement statement = connection.prepareStatement(each)) {
          statement.setString(1, conf.get("hive.metastore.warehouse.dir"));
          statement.executeUpdate();
        } catch (SQLException failure) {
          if (!NO_SUCH_TABLE.contains(failure.getSQLState())) { // No catalogs before Hive 3.
            throw failure;
          }
        }
      }
    }
  }

  /** Derby keeps its files open until then. */
  private static void stop(String database) {
    if (!database.startsWith("jdbc:derby:")) {
      return;
    }
    try {
      DriverManager.getConnection(database.replace(";create=true", "") + ";shutdown=true").close();
    } catch (SQLException always) {
      System.out.println(always.getMessage());
    }
  }

  private static Class<?> find(String name) {
    try {
      return Class.forName(HIVE + name);
    } catch (ClassNotFoundException missing) {
      return null;
    }
  }

  private static Method named(Class<?> where, String name, int parameters) {
    for (Method each : where.getDeclaredMethods()) {
      if (each.getName().equals(name) && each.getParameterCount() == parameters) {
        each.setAccessible(true);
        return each;
      }
    }
    throw new IllegalStateException(where + " has no " + name);
  }

  private static Constructor<?> constructor(Class<?> of, int parameters) {
    for (Constructor<?> each : of.getDeclaredConstructors()) {
      if (each.getParameterCount() == parameters) {
        each.setAccessible(true);
        return each;
      }
    }
    throw new IllegalStateException("no such constructor of " + of);
  }
}
