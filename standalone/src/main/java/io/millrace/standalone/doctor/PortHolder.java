package io.millrace.standalone.doctor;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Optional;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// Asks whoever listens on a port of this machine whether it is a gateway of Millrace.
final class PortHolder {
    private static final Duration PATIENCE = Duration.ofSeconds(2);
    private static final int MAX_BYTES = 65_536;

    private PortHolder() {}

    /// The id of the model it serves; empty if it is something else, or does not answer in time.
    static Optional<String> servedModel(int port) {
        try (HttpClient http = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(PATIENCE)
                .build()) {
            HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v1/models"))
                    .timeout(PATIENCE)
                    .build();
            HttpResponse<InputStream> response = http.send(request, HttpResponse.BodyHandlers.ofInputStream());
            byte[] body;
            try (InputStream in = response.body()) {
                body = in.readNBytes(MAX_BYTES);
            }
            JsonNode model = JsonMapper.shared().readTree(body).path("data").path(0);
            boolean isOurs = model.path("owned_by").asString("").equals("millrace");
            return isOurs ? Optional.of(model.path("id").asString("")) : Optional.empty();
        } catch (IOException | JacksonException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }
}
