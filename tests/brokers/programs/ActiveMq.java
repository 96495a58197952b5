import java.io.File;
import org.apache.activemq.broker.BrokerService;
import org.apache.activemq.store.kahadb.KahaDBPersistenceAdapter;
import org.apache.activemq.store.kahadb.disk.journal.Journal.JournalDiskSyncStrategy;

/**
 * An ActiveMQ Classic that speaks AMQP 1.0 on a port of 127.0.0.1, with its scheduler. Its name carries
 * its process id to whoever connects; what it stores is found again under whatever name.
 *
 * <p>The journal is written without waiting for the disk: it outlives a SIGKILL, only a power cut could
 * lose something.
 */
public final class ActiveMq {
  private static final int JOURNAL_BYTES = 8 * 1024 * 1024;

  public static void main(String[] args) throws Exception {
    KahaDBPersistenceAdapter store = new KahaDBPersistenceAdapter();
    store.setDirectory(new File("data/messages"));
    store.setJournalMaxFileLength(JOURNAL_BYTES);
    store.setJournalDiskSyncStrategy(JournalDiskSyncStrategy.NEVER.name());
    BrokerService broker = new BrokerService();
    broker.setBrokerName("pid-" + ProcessHandle.current().pid() + "-bq");
    broker.setUseJmx(false);
    broker.setPersistenceAdapter(store);
    broker.setDataDirectory("data");
    broker.setSchedulerDirectoryFile(new File("data/scheduler"));
    broker.setTmpDataDirectory(new File("data/paged"));
    broker.setSchedulerSupport(true);
    broker.addConnector("amqp://127.0.0.1:" + args[0]);
    broker.start();
    broker.waitUntilStopped();
  }
}
