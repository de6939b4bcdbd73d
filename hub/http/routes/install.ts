import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Clock, type JsonObject, type Log, HubError, isObject } from '#core';
import type { InstallProgress, Installed, Installs } from '#servers';
import { problemOf } from '../errors.ts';

type Needs = {
  readonly installs: Pick<Installs, 'install' | 'remove'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
};

/** `POST /servers/install` and `DELETE /servers/{name}` (spec 1.6). */
export function installRoutes(app: FastifyInstance, needs: Needs): void {
  app.post('/servers/install', async (request, reply) => {
    // Its schema takes memory that a hub without installs need not have.
    const { readInstallBody } = await import('./install-body.ts');
    const wanted = readInstallBody(request.body);
    const hungUp = new AbortController();
    const client = reply.raw;
    client.once('close', () => hungUp.abort(new Error('the connection was closed')));
    const install = (tell: (progress: InstallProgress) => void) =>
      needs.installs.install(wanted, tell, hungUp.signal);
    if (wantsEvents(request)) return await stream(reply, install, needs);
    const installed = await install(() => {});
    return await reply.code(201).header('location', `/servers/${installed.name}`).send(installed);
  });

  app.delete<{ Params: { name: string } }>('/servers/:name', async request => {
    return await needs.installs.remove(request.params.name, { purge: readPurge(request.query) });
  });
}

/** Between two signs of life on a stream: less than proxies wait for. */
const aliveMs = 15_000;
/** Lines for a client that does not read them are dropped from here on; how it ends is told in any case. */
const maxWaitingBytes = 2 ** 20;

const wantsEvents = ({ headers }: FastifyRequest) =>
  (headers.accept ?? '').split(',').some(type => type.trim().startsWith('text/event-stream'));

/**
 * Each line as it comes, and at the end what the plain answer would hold, or its error. What is refused before
 * anything was begun is thrown, and answered with a status of its own.
 */
async function stream(
  reply: FastifyReply,
  install: (tell: (progress: InstallProgress) => void) => Promise<Installed>,
  needs: Needs,
): Promise<FastifyReply> {
  const { raw } = reply;
  const first: InstallProgress[] = [];
  let alive: Disposable | undefined;
  const send = (event: string, data: object) => {
    if (!raw.destroyed) raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const keepAlive = () => {
    alive = needs.clock.after(aliveMs, () => {
      if (!raw.destroyed) raw.write(': alive\n\n');
      keepAlive();
    });
  };
  const open = () => {
    reply.hijack();
    raw.on('error', () => {});
    raw.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    keepAlive();
    for (const progress of first.splice(0)) send('progress', progress);
  };
  try {
    const installed = await install(progress => {
      if (progress.step === 'validate') first.push(progress);
      else {
        if (!alive) open();
        if (raw.writableLength < maxWaitingBytes) send('progress', progress);
      }
    });
    if (!alive) open();
    send('done', installed);
  } catch (error) {
    if (!alive) throw error;
    send('error', error instanceof HubError ? problemOf(error) : bugOf(error, needs));
  } finally {
    if (alive) raw.end();
    alive?.[Symbol.dispose]();
  }
  return reply;
}

function bugOf(error: unknown, { log, newId }: Needs): JsonObject {
  const id = newId();
  const shown = error instanceof Error ? error.stack : String(error);
  log.error({ id, error: shown }, 'an install failed');
  const message = `the hub failed; its log says why under ${id}`;
  return { error: { code: 'HUB_INTERNAL', message, id } };
}

function readPurge(query: unknown): boolean {
  const { purge, ...others } = isObject(query) ? query : {};
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `${other}: is no parameter of DELETE /servers/{name}; "purge" is the only one`,
    );
  if (purge === undefined || purge === 'false') return false;
  if (purge === '' || purge === 'true') return true;
  throw new HubError(
    'HUB_REQUEST_INVALID',
    `purge: ${JSON.stringify(purge)} is not allowed: write ?purge, ?purge=true or ?purge=false`,
  );
}
