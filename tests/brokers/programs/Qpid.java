import java.util.List;
import java.util.Map;
import org.apache.qpid.server.SystemLauncher;
import org.apache.qpid.server.SystemLauncherListener.DefaultSystemLauncherListener;
import org.apache.qpid.server.model.Broker;
import org.apache.qpid.server.model.Port;
import org.apache.qpid.server.model.SystemConfig;

/**
 * A Qpid Broker-J that is set up by the configuration at a URL, and ends in order on SIGTERM. Its port is
 * opened last: the broker itself would open it before its queues are there, and answer nobody who
 * comes too early.
 */
public final class Qpid {
  private static SystemConfig<?> system;

  @SuppressWarnings("unchecked")
  public static void main(String[] args) throws Exception {
    SystemLauncher launcher =
        new SystemLauncher(
            new DefaultSystemLauncherListener() {
              @Override
              public void onContainerResolve(SystemConfig<?> config) {
                system = config;
              }
            });
    Runtime.getRuntime().addShutdownHook(new Thread(launcher::shutdown));
    launcher.startup(
        Map.of(
            "type", "Memory",
            "initialConfigurationLocation", args[1],
            "startupLoggedToSystemOut", "true",
            "context",
                Map.of(
                    "bq.name", "pid-" + ProcessHandle.current().pid() + "-bq",
                    "qpid.work_dir", System.getProperty("user.dir"))));
    system.getContainer(Broker.class).createChild(Port.class, portOf(args[0]));
  }

  /** A client names as its virtual host whatever it connected to. */
  private static Map<String, Object> portOf(String number) {
    Map<String, Object> anyHost =
        Map.of("name", "any", "type", "patternMatchingAlias", "pattern", ".*");
    return Map.of(
        "name", "amqp",
        "type", "AMQP",
        "port", number,
        "bindingAddress", "127.0.0.1",
        "protocols", List.of("AMQP_1_0"),
        "authenticationProvider", "nobody",
        "virtualhostaliases", List.of(anyHost));
  }
}
