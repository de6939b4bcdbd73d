import { type Clock, type Log, HubError, silent } from '#core';
import type { Era } from '#mcp';
import type { Instance } from '#runtimes';
import { createUpstream } from '#upstream';
import { eraToldBy } from './eras.ts';
import { type HandshakeOptions, asModern, discover, initialize } from './handshake.ts';
import { lateStart } from './start-deadline.ts';

/** Time after which a silent server is tried in the other era as well: it may ignore unknown requests, or be slow. */
const silenceMs = 2_000;

/**
 * Finds out which era a server speaks, on an instance that is of no use afterwards: servers settle for the
 * era of the first request, and some end at one that they do not know. Rejects with
 * HUB_SERVER_START_FAILED where it answers nothing at all in `timeoutMs`.
 */
export async function probeEra(
  options: HandshakeOptions,
  instance: Pick<Instance, 'channel'>,
  needs: { readonly clock: Pick<Clock, 'after'>; readonly log: Log },
): Promise<Era> {
  const { server, hubVersion, timeoutMs } = options;
  const upstream = createUpstream({ server }, instance.channel, {
    clock: needs.clock,
    log: needs.log,
    output: silent,
    notified() {},
    serverRequest() {},
  });
  void instance.channel.closed.then(({ reason }) =>
    upstream.fail(new HubError('HUB_SERVER_DOWN', `${server} is gone: ${reason}`)),
  );
  const eraOf = (error: unknown): Era => {
    if (!(error instanceof HubError) || error.code !== 'HUB_CALL_TIMEOUT')
      return eraToldBy(error) ?? 'legacy';
    throw lateStart(error);
  };
  const modern = discover(options, asModern(upstream, hubVersion)).then((): Era => 'modern', eraOf);
  const legacy = Promise.withResolvers<Era>();
  legacy.promise.catch(() => undefined); // Rejects at the timeout, after `modern` has.
  using _silence = needs.clock.after(silenceMs, () => {
    const leftMs = Math.max(1, timeoutMs - silenceMs);
    initialize({ ...options, timeoutMs: leftMs }, upstream)
      .then((): Era => 'legacy', eraOf)
      .then(legacy.resolve, legacy.reject);
  });
  try {
    return await Promise.race([modern, legacy.promise]);
  } finally {
    modern.catch(() => undefined); // The race is decided.
  }
}
