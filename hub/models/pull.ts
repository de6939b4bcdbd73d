import { createEmitter, isObject } from '#core';
import type { Caller } from './call.ts';
import { ModelFailure, failureOfAbort } from './failure.ts';
import { createJoined } from './joined.ts';
import type { Listing } from './listing.ts';
import { fullName } from './names.ts';

/** How far a pull is. */
export type PullProgress = {
  /** In Ollama's words: `pulling manifest`, `verifying sha256 digest`, at last `success`. */
  readonly status: string;
  /** Of the layer that is transferred; undefined outside of transfers. */
  readonly digest: string | undefined;
  readonly totalBytes: number | undefined;
  readonly completedBytes: number | undefined;
};

/** Fetches models; each once, whoever waits for it. */
export interface Pulls {
  /** Resolves when the model is there. Ollama keeps what was transferred when it is given up. */
  pull(
    model: string,
    progress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

/** So long a pull may be silent: Ollama itself gives a stalled transfer up earlier. */
const silentMs = 120_000;
/** More than one at a time only share the line. */
const maxPulls = 4;

/** Nothing is under way. */
export function createPulls(needs: {
  readonly caller: Pick<Caller, 'call'>;
  readonly listing: Pick<Listing, 'forget'>;
}): Pulls {
  const joined = createJoined<void>();
  const underWay = new Map<string, Shown>();

  async function fetchModel(model: string, show: Shown, signal: AbortSignal): Promise<void> {
    await needs.caller.call(
      {
        subject: `the pull of ${model}`,
        model,
        isStream: true,
        silentMs,
        totalMs: undefined,
        isGated: false,
        async run(client, heard) {
          for await (const line of await client.pull({ model, stream: true })) {
            heard();
            show.fire(parseProgress(line));
          }
        },
      },
      signal,
    );
    needs.listing.forget();
  }

  return {
    async pull(name, progress, signal) {
      const model = fullName(name);
      if (signal.aborted) throw failureOfAbort(signal, model);
      if (!joined.has(model) && joined.size >= maxPulls)
        throw new ModelFailure('busy', `${maxPulls} pulls are under way. Wait for one of them`, {
          model,
        });
      const shown = underWay.get(model) ?? createShown();
      underWay.set(model, shown);
      using _heard = shown.hear(progress);
      try {
        await joined.join(model, given => fetchModel(model, shown, given), signal);
      } catch (error) {
        throw signal.aborted ? failureOfAbort(signal, model) : error;
      } finally {
        if (!joined.has(model)) underWay.delete(model);
      }
    },
  };
}

type Shown = ReturnType<typeof createShown>;

/** Progress for several; who comes later hears the latest at once. */
function createShown() {
  const { event, fire } = createEmitter<PullProgress>();
  let latest: PullProgress | undefined;
  return {
    fire(progress: PullProgress): void {
      latest = progress;
      fire(progress);
    },
    hear(listener: (progress: PullProgress) => void): Disposable {
      if (latest) listener(latest);
      return event(listener);
    },
  };
}

function parseProgress(line: unknown): PullProgress {
  const { status, digest, total, completed } = isObject(line) ? line : {};
  return {
    status: typeof status === 'string' ? status : '',
    digest: typeof digest === 'string' ? digest : undefined,
    totalBytes: typeof total === 'number' ? total : undefined,
    completedBytes: typeof completed === 'number' ? completed : undefined,
  };
}
