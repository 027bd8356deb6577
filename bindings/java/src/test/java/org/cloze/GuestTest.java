package org.cloze;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Is it a polite guest of the JVM: its signals, its checks of JNI, its memory, its files? Each in a JVM of its own. */
class GuestTest {
    @TempDir
    Path temporary;

    /** What {@link Guest} says, on both streams. */
    private List<String> say(String what, String... options) throws Exception {
        List<String> command = new ArrayList<>(Arrays.asList(options));
        command.addAll(List.of("-Djava.io.tmpdir=" + temporary, "-Dcloze.root=" + Golden.ROOT, Guest.class.getName(), what));
        return Golden.java(temporary, command).lines().collect(Collectors.toList());
    }

    @Test
    void signalsOfTheJvmStayAsTheyWere() throws Exception {
        assertEquals(List.of("loading: the same", "calling: the same", "true"), say("signals"));
    }

    @Test
    void theJvmsChecksOfJniFindNothing() throws Exception {
        List<String> said = say("cases", "-Xcheck:jni");
        int right = Golden.cases("cases").size();
        int wrong = Golden.cases("refused").size();
        assertEquals(List.of(right + " answered, " + wrong + " refused"), said);
    }

    @Test
    void aHundredThousandCallsLeaveMemoryFlat() throws Exception {
        List<Long> kilobytes = say("memory", "-Xms32m", "-Xmx32m", "-XX:+UseSerialGC", "-XX:+AlwaysPreTouch").stream()
                .map(Long::parseLong).collect(Collectors.toList());
        assertEquals(12, kilobytes.size());
        // The JVM itself warms up over the first rounds.
        long more = kilobytes.get(11) - kilobytes.get(1);
        assertTrue(more < 8192, more + " kB more over 100,000 calls: " + kilobytes);
    }

    @Test
    void nothingIsLeftOfTheLibraryInTheTemporaryFolder() throws Exception {
        say("signals");
        try (Stream<Path> left = Files.list(temporary)) {
            assertEquals(List.of(), left.filter(path -> path.getFileName().toString().startsWith("cloze")).collect(Collectors.toList()));
        }
    }

    @Test
    void theLibraryMayBeNamed() throws Exception {
        Path copy = temporary.resolve("libclozejni.so");
        try (InputStream library = Native.class.getResourceAsStream("native/linux-" + System.getProperty("os.arch") + "/libclozejni.so")) {
            Files.copy(library, copy);
        }
        assertEquals("true", say("signals", "-Dcloze.library=" + copy).get(2));
    }
}
