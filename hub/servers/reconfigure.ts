import type { ServerConfig } from '#config';
import { type Clock, HubError } from '#core';
import { startFailure } from './failures.ts';
import type { Gate } from './gate.ts';
import type { Loop } from './loop.ts';
import type { Running, Server, ServerStatus } from './server.ts';

/** What has another config in force for a server, as `Server` promises of its members of these names. */
export type Reconfiguring = Pick<Server, 'reconfigure' | 'refusedEntry'>;

type Needs = {
  readonly clock: Pick<Clock, 'now'>;
  readonly config: () => ServerConfig;
  readonly status: () => ServerStatus;
  readonly loop: Pick<Loop, 'life' | 'isGoing' | 'renew' | 'begin' | 'swap'>;
  readonly gate: Pick<Gate, 'reset'>;
  /** One that a session has for itself is started by calls alone. */
  readonly isOwn: boolean;
  readonly isClosed: () => boolean;
  /** Has a config in force for whatever is done from here on. */
  readonly configure: (config: ServerConfig) => void;
  readonly isExclusive: (config: ServerConfig) => boolean;
  readonly start: () => void;
  readonly stop: () => Promise<void>;
  /** Resolves when it answers. Rejects with HubError. */
  readonly ready: () => Promise<Running>;
  readonly stderr: () => string;
  /** Takes out of what a server says whatever must not be shown. */
  readonly redact: (text: string) => string;
};

/** What changes one server, one change after the other. */
export function createReconfiguring(needs: Needs): Reconfiguring {
  const { loop, configure, start } = needs;
  let changing: Promise<unknown> = Promise.resolve();
  let refusedEntry: Server['refusedEntry'];

  /** Two instances must not run at once: calls wait from the end of the old one to the start of the new. */
  async function replace(before: ServerConfig, next: ServerConfig): Promise<void> {
    configure(next);
    loop.renew();
    try {
      await needs.ready();
    } catch (error) {
      // Somebody has stopped it, who wants it to be as the config says now.
      if (isStopped(error)) return;
      configure(before);
      if (loop.isGoing) loop.renew();
      else loop.begin();
      await needs.ready().catch(() => undefined);
      throw error;
    }
  }

  async function change(next: ServerConfig, isReplaced: boolean): Promise<void> {
    const before = needs.config();
    const status = needs.status();
    if (needs.isClosed()) return;
    if (!next.enabled) {
      configure(next);
      if (before.enabled) await needs.stop();
      return;
    }
    if (!isReplaced || !before.enabled || !loop.isGoing) {
      configure(next);
      if (needs.isOwn) return;
      const wasOn = before.enabled && before.autoStart;
      // What has failed with the old entry may do better with the new one, if only by having more time.
      const isMended = status.state === 'failed';
      const isOff = status.state === 'stopped' && !(status.byHand && before.enabled);
      if (isMended) {
        await needs.stop();
        needs.gate.reset();
      }
      if (next.autoStart && (isMended || (isOff && !wasOn))) start();
      return;
    }
    // What waits to run needs no second one beside it.
    if (!loop.life) {
      configure(next);
      loop.renew();
      return;
    }
    if ([before, next].some(needs.isExclusive)) await replace(before, next);
    else await loop.swap(next, () => configure(next));
    // What the old one has failed at is not held against the new one.
    needs.gate.reset();
  }

  async function afterwards(
    before: Promise<unknown>,
    next: ServerConfig,
    isReplaced: boolean,
  ): Promise<void> {
    await before;
    try {
      await change(next, isReplaced);
      refusedEntry = undefined;
    } catch (error) {
      const failure = startFailure(next.name, error, needs.stderr());
      if (failure instanceof HubError) {
        const { code, message, cause, data } = failure;
        const error = new HubError(code, needs.redact(message), { cause, data });
        refusedEntry = { at: needs.clock.now(), error };
      }
      throw failure;
    }
  }

  return {
    get refusedEntry() {
      return refusedEntry;
    },
    reconfigure(next, isReplaced) {
      const changed = afterwards(changing, next, isReplaced);
      changing = changed.catch(() => undefined);
      return changed;
    },
  };
}

const isStopped = (error: unknown): boolean =>
  error instanceof HubError &&
  (error.code === 'HUB_SERVER_STOPPED' ||
    error.code === 'HUB_SHUTTING_DOWN' ||
    error.code === 'HUB_SERVER_UNKNOWN');
