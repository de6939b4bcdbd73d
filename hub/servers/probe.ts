import { setTimeout as delay } from 'node:timers/promises';
import { type Log, HubError, silent } from '#core';
import type { Era } from '#rpc';
import type { Instance } from '#runtimes';
import { eraToldBy } from './eras.ts';
import { type Greeting, asModern, discover, initialize } from './handshake.ts';
import { lateStart } from './start-deadline.ts';
import { createUpstream } from './upstream.ts';

/**
 * How long a server may be silent before it is asked in the other era as well: some answer nothing to
 * what they do not know, and others are only slow to begin.
 */
const silenceMs = 2_000;

/**
 * Finds out which era a server speaks, on an instance that is of no use afterwards: servers settle for the
 * era of the first request, and some end at one that they do not know. Rejects with
 * HUB_SERVER_START_FAILED where it answers nothing at all in `timeoutMs`.
 */
export async function probeEra(
  greeting: Greeting,
  instance: Pick<Instance, 'channel'>,
  needs: { readonly log: Log },
): Promise<Era> {
  const { server, hubVersion, timeoutMs } = greeting;
  const upstream = createUpstream({ server }, instance.channel, {
    log: needs.log,
    output: silent,
    notified() {},
    asked() {},
  });
  void instance.channel.closed.then(({ reason }) =>
    upstream.fail(new HubError('HUB_SERVER_DOWN', `${server} is gone: ${reason}`)),
  );
  const silence = new AbortController();
  const told = (error: unknown): Era => {
    if (!(error instanceof HubError) || error.code !== 'HUB_CALL_TIMEOUT')
      return eraToldBy(error) ?? 'legacy';
    throw lateStart(error);
  };
  const modern = discover(greeting, asModern(upstream, hubVersion)).then((): Era => 'modern', told);
  const legacy = delay(silenceMs, undefined, { signal: silence.signal, ref: false })
    .then(() =>
      initialize({ ...greeting, timeoutMs: Math.max(1, timeoutMs - silenceMs) }, upstream),
    )
    .then((): Era => 'legacy', told);
  // The second one fails only after the first has: at the end of the silence, or of the time.
  legacy.catch(() => undefined);
  try {
    return await Promise.race([modern, legacy]);
  } finally {
    silence.abort();
    modern.catch(() => undefined);
  }
}
