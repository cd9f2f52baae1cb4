package io.millrace.rpc;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/// A network between two ends that can be cut: from then on nothing arrives any more, and no connection is closed.
final class StallingProxy implements AutoCloseable {
    private final int serverPort;
    private final ServerSocket listener;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private volatile boolean cut;

    StallingProxy(int serverPort) throws IOException {
        this.serverPort = serverPort;
        this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    void cut() {
        cut = true;
    }

    private void accept() {
        try {
            while (true) {
                Socket client = listener.accept();
                Socket server = new Socket(InetAddress.getLoopbackAddress(), serverPort);
                sockets.add(client);
                sockets.add(server);
                Thread.ofVirtual().start(() -> forward(client, server));
                Thread.ofVirtual().start(() -> forward(server, client));
            }
        } catch (IOException _) {
            // Closed.
        }
    }

    private void forward(Socket from, Socket to) {
        byte[] bytes = new byte[8192];
        try {
            InputStream input = from.getInputStream();
            OutputStream output = to.getOutputStream();
            for (int count = input.read(bytes); count >= 0; count = input.read(bytes)) {
                if (!cut) {
                    output.write(bytes, 0, count);
                }
            }
        } catch (IOException _) {
            // One of the ends is closed.
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}
