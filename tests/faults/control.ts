import { join } from 'node:path';
import Docker from 'dockerode';
import { freePort } from '#helpers/port';
import { forkReady } from '../bench/child.ts';
import { type EchoSession, openEchoSession } from './echo-session.ts';

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'servers');
const relay = join(import.meta.dirname, '..', 'bench', 'subjects', 'sdk-relay.ts');

/** A session with the echo server in a container of its own, behind a process that does nothing but relay. */
export type Control = EchoSession;

/**
 * Starts a control on the engine of the tests. Its calls take the same path as calls through a hub, over HTTP and an
 * attached container: if processes have to wait for a processor, that delays both. The control ends with its parent.
 */
export async function startControl(): Promise<Control> {
  await using opened = new AsyncDisposableStack();
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
  // The container's stdin ends with the relay, so the container exits and is removed.
  opened.defer(async () => {
    await container.wait({ condition: 'removed' }).catch(() => undefined);
  });
  const port = String(await freePort());
  opened.use(await forkReady(relay, [port, 'container', container.id]));
  const session = opened.use(await openEchoSession(`http://127.0.0.1:${port}/mcp`));
  const kept = opened.move();
  return {
    echo: text => session.echo(text),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
