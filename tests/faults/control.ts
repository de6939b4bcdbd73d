import { join } from 'node:path';
import Docker from 'dockerode';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { isObject } from '#core';
import { attachedTransport } from '../bench/subjects/attached-transport.ts';

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'servers');

/** The server of `neighbour`, in a container of its own, with no hub before it. */
export type Control = AsyncDisposable & {
  /** Calls its tool `echo`, and resolves with the text that is answered. */
  echo(text: string): Promise<string>;
};

/** Starts one on the engine that answers the tests. It ends with whoever started it. */
export async function startControl(): Promise<Control> {
  const container = await new Docker().createContainer({
    Image: 'node:24-bookworm-slim',
    Cmd: ['node', '/fixtures/echo.mjs'],
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    StdinOnce: true,
    HostConfig: {
      AutoRemove: true,
      Init: true,
      NetworkMode: 'none',
      Binds: [`${fixtures}:/fixtures:ro`],
    },
  });
  const client = new Client({ name: 'control', version: '1.0.0' });
  await client.connect(await attachedTransport(container.id));
  return {
    async echo(text) {
      const { content } = await client.callTool({ name: 'echo', arguments: { text } });
      const [part]: readonly unknown[] = Array.isArray(content) ? content : [];
      return isObject(part) ? String(part['text']) : '';
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      // Its input has ended, and so it does.
      await container.wait({ condition: 'removed' }).catch(() => undefined);
    },
  };
}
