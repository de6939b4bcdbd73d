import { PassThrough } from 'node:stream';
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import Dockerode from 'dockerode';
import { attachAndStart } from '../containers.ts';

/** Creates an MCP transport to a created container, with the framing of the SDK and the demultiplexer of dockerode. */
export async function attachedTransport(containerId: string): Promise<Transport> {
  const socket = await attachAndStart(containerId);
  const stdout = new PassThrough();
  const docker = new Dockerode();
  docker.getContainer(containerId).modem.demuxStream(socket, stdout, new PassThrough().resume());
  const read = new ReadBuffer();
  const transport: Transport = {
    async start() {
      stdout.on('data', (chunk: Buffer) => {
        read.append(chunk);
        for (let message = read.readMessage(); message; message = read.readMessage())
          transport.onmessage?.(message);
      });
    },
    async send(message) {
      socket.write(serializeMessage(message));
    },
    async close() {
      socket.destroy();
      transport.onclose?.();
    },
  };
  return transport;
}
