import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.DoubleSupplier;
import org.cloze.Model;
import org.cloze.Options;
import org.cloze.Request;
import org.cloze.Texts;

/**
 * What does a call from Java cost beside the same call from C (benches/overhead.c)? Both encode the same short text, in turns; the time is the processor's.
 *
 * <pre>java -cp cloze-0.1.0.jar Overhead.java C_PROGRAM MODEL</pre>
 */
public final class Overhead {
    private static final String TEXT = "How do I reset my password?";
    private static final int CALLS = 5000;
    private static final int ROUNDS = 9;

    public static void main(String[] arguments) throws Exception {
        try (Model model = Model.open(Path.of(arguments[1]), Options.of("threads", 1))) {
            ByteBuffer out = ByteBuffer.allocateDirect(4 * model.dimensions(Request.DEFAULT));
            DoubleSupplier array = () -> time(() -> model.encode(TEXT));
            DoubleSupplier direct = () -> time(() -> model.encode(Texts.of(TEXT), Request.DEFAULT, out));
            // The compiler of the JVM is another thread's time, and done by then.
            for (int i = 0; i < 5; i++) {
                array.getAsDouble();
                direct.getAsDouble();
            }
            double[] c = new double[ROUNDS];
            double[] arrays = new double[ROUNDS];
            double[] directs = new double[ROUNDS];
            for (int round = 0; round < ROUNDS; round++) {
                c[round] = fromC(arguments[0], arguments[1]);
                arrays[round] = array.getAsDouble();
                directs[round] = direct.getAsDouble();
            }
            System.out.printf("a call from C %.1f us, from Java to an array %.1f us, to a direct buffer %.1f us (medians of %d rounds of %d calls)%n",
                    median(c), median(arrays), median(directs), ROUNDS, CALLS);
        }
    }

    private static double time(Runnable call) {
        java.lang.management.ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        long begun = clock.getCurrentThreadCpuTime();
        for (int i = 0; i < CALLS; i++) {
            call.run();
        }
        return (clock.getCurrentThreadCpuTime() - begun) / 1e3 / CALLS;
    }

    private static double fromC(String program, String model) throws Exception {
        Process process = new ProcessBuilder(program, model, TEXT, String.valueOf(CALLS)).start();
        return Double.parseDouble(new String(process.getInputStream().readAllBytes()).trim());
    }

    private static double median(double[] values) {
        Arrays.sort(values);
        return values[values.length / 2];
    }
}
