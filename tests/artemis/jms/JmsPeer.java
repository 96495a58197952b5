import jakarta.jms.JMSConsumer;
import jakarta.jms.JMSContext;
import jakarta.jms.Message;
import jakarta.jms.TextMessage;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

/**
 * A plain JMS client with the broker's own jars. It knows nothing of BabelQueue.
 *
 * <p>A line on standard input is a request, its words separated by spaces, texts in base64:
 * {@code receive QUEUE} or {@code send QUEUE TYPE CORRELATION TEXT [NAME=VALUE]...}. The answer to a
 * receive is one line of {@code name=base64} words, the answer to a send is {@code sent}.
 */
public final class JmsPeer {
  private static final long PATIENCE_MS = 20_000;

  public static void main(String[] args) throws Exception {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(args[0]);
        JMSContext context = factory.createContext(JMSContext.AUTO_ACKNOWLEDGE)) {
      System.out.println("ready");
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        String[] words = line.split(" ");
        System.out.println(words[0].equals("send") ? send(context, words) : receive(context, words[1]));
      }
    }
  }

  private static String send(JMSContext context, String[] words) throws Exception {
    TextMessage message = context.createTextMessage(decode(words[4]));
    message.setJMSType(decode(words[2]));
    message.setJMSCorrelationID(decode(words[3]));
    for (int at = 5; at < words.length; at++) {
      String[] pair = words[at].split("=", 2);
      message.setStringProperty(pair[0], decode(pair[1]));
    }
    context.createProducer().send(context.createQueue(words[1]), message);
    return "sent";
  }

  private static String receive(JMSContext context, String queue) throws Exception {
    try (JMSConsumer consumer = context.createConsumer(context.createQueue(queue))) {
      Message message = consumer.receive(PATIENCE_MS);
      if (message == null) return "nothing";
      Map<String, String> seen = new TreeMap<>();
      seen.put("class", message instanceof TextMessage ? "TextMessage" : message.getClass().getName());
      seen.put("type", message.getJMSType());
      seen.put("correlation", message.getJMSCorrelationID());
      seen.put("timestamp", String.valueOf(message.getJMSTimestamp()));
      seen.put("deliveries", String.valueOf(message.getIntProperty("JMSXDeliveryCount")));
      if (message instanceof TextMessage text) seen.put("text", text.getText());
      List<String> names = Collections.list(message.getPropertyNames());
      for (String name : names) {
        if (!name.startsWith("JMS")) seen.put("property:" + name, message.getStringProperty(name));
      }
      StringBuilder line = new StringBuilder();
      seen.forEach((name, value) -> line.append(name).append('=').append(encode(value)).append(' '));
      return line.toString().trim();
    }
  }

  private static String encode(String text) {
    byte[] bytes = (text == null ? "null" : text).getBytes(StandardCharsets.UTF_8);
    return Base64.getEncoder().encodeToString(bytes);
  }

  private static String decode(String text) {
    return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
  }
}
