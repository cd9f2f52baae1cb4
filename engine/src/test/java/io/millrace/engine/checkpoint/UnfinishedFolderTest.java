package io.millrace.engine.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.MillraceException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class UnfinishedFolderTest {
    private static final int ROUNDS = 8;
    private static final int RUNS = 4;

    @TempDir
    private Path folder = Path.of("");

    private NewModelFolder target = new NewModelFolder(folder);

    @BeforeEach
    void place() {
        target = new NewModelFolder(folder.resolve("made"));
    }

    @Test
    void ofRunsThatBeginInTheSameMomentOneGoesOn() throws Exception {
        try (ExecutorService runs = Executors.newFixedThreadPool(RUNS)) {
            for (int round = 0; round < ROUNDS; round++) {
                CyclicBarrier start = new CyclicBarrier(RUNS);
                List<Future<List<UnfinishedFolder>>> all = new ArrayList<>();
                for (int run = 0; run < RUNS; run++) {
                    all.add(runs.submit(() -> {
                        start.await();
                        return begun();
                    }));
                }
                List<UnfinishedFolder> begun = new ArrayList<>();
                for (Future<List<UnfinishedFolder>> run : all) {
                    begun.addAll(run.get());
                }
                assertThat(begun).as("round " + round).hasSize(1);
                assertThat(left()).containsExactly(begun.getFirst().path());
                begun.getFirst().close();
                assertThat(left()).isEmpty();
            }
        }
    }

    /// The folder, or nothing for one that was refused.
    private List<UnfinishedFolder> begun() throws IOException {
        try {
            return List.of(UnfinishedFolder.create(target));
        } catch (MillraceException e) {
            assertThat(e).hasMessageStartingWith(target.path() + ": another run is making it");
            return List.of();
        }
    }

    @Test
    void theFirstByNameWaitsForTheOthersToGiveUp() throws Exception {
        Path rival = Files.createDirectory(folder.resolve(target.hiddenPrefix() + "9".repeat(20)));
        try (ExecutorService runs = Executors.newSingleThreadExecutor()) {
            Future<List<UnfinishedFolder>> run;
            try (FileChannel lock = lock(rival)) {
                run = runs.submit(this::begun);
                while (left().size() < 2 && !run.isDone()) {
                    Thread.onSpinWait();
                }
                assertThat(lock.isOpen()).isTrue();
            }
            List<UnfinishedFolder> begun = run.get();
            assertThat(begun).hasSize(1);
            assertThat(left()).containsExactly(begun.getFirst().path());
            begun.getFirst().close();
        }
    }

    @Test
    void aRivalThatGoesOnIsNotWaitedForEndlessly() throws IOException {
        for (String number : List.of("0", "9".repeat(20))) {
            Path rival = Files.createDirectory(folder.resolve(target.hiddenPrefix() + number));
            try (FileChannel lock = lock(rival)) {
                assertThatThrownBy(() -> UnfinishedFolder.create(target).close())
                        .isInstanceOf(MillraceException.class)
                        .hasMessage(target.path()
                                + ": another run is making it (expected: a folder that nobody else makes)");
                assertThat(lock.isOpen()).isTrue();
                assertThat(left()).containsExactly(rival);
            }
            Files.delete(rival.resolve("lock"));
            Files.delete(rival);
        }
    }

    @SuppressWarnings("resource") // the lock goes with the channel
    private static FileChannel lock(Path rival) throws IOException {
        FileChannel channel =
                FileChannel.open(rival.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        channel.lock();
        return channel;
    }

    private List<Path> left() throws IOException {
        try (Stream<Path> paths = Files.list(folder)) {
            return paths.toList();
        }
    }
}
