package io.millrace.startup;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.context.support.GenericApplicationContext;

class ProcessEndTest {

    /// A process that would run forever, and fails at once.
    static final class FailingProcess {
        private FailingProcess() {}

        public static void main(String[] arguments) throws InterruptedException {
            var application = new GenericApplicationContext();
            DisposableBean lastWords = () -> System.out.println("closed");
            application.registerBean("lastWords", DisposableBean.class, () -> lastWords);
            application.refresh();
            application.getBean("lastWords");
            new ProcessEnd(application).end("told to fail");
            new CountDownLatch(1).await();
        }
    }

    @Test
    @Timeout(value = 60, unit = TimeUnit.SECONDS)
    void closesTheApplicationAndExitsWithStatusOne() throws Exception {
        ProcessBuilder command = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                FailingProcess.class.getName());
        command.environment().remove("JAVA_TOOL_OPTIONS");
        command.environment().remove("JDK_JAVA_OPTIONS");
        Process process = command.redirectErrorStream(true).start();
        try {
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(said.lines()).contains("closed");
            assertThat(process.waitFor()).isEqualTo(1);
        } finally {
            process.destroyForcibly();
        }
    }
}
