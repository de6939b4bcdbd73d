import {
  type Clock,
  type Log,
  type Service,
  createSingleFlight,
  createTicker,
  within,
  DeadlineExceeded,
} from '#core';
import { ModelFailure } from './failure.ts';
import type { Models } from './models.ts';

/** A model that the rules name, and its purpose. */
type WantedModel = {
  readonly model: string;
  readonly use: 'rule' | 'embedding' | 'judge' | 'fallback';
};

/** A wanted model that Ollama does not have. */
type MissingModel = WantedModel & {
  /** True if the hub pulls the model now, or is going to. */
  readonly isPulled: boolean;
  /** Message for the user: which model is missing, and how to get it. */
  readonly message: string;
};

/** Checks periodically which wanted models are missing, and logs when a model becomes missing or available. */
export type MissingModels = Service & {
  /** Checks now. If Ollama does not answer, resolves with the missing models of the last check. */
  check(): Promise<readonly MissingModel[]>;
};

type Needs = {
  readonly models: Pick<Models, 'list' | 'find' | 'absence'>;
  readonly clock: Clock;
  readonly log: Log;
};

const intervalMs = 30_000;
/** Timeout of a check in ms. Short, because /health waits for it. */
const checkMs = 2_000;

const uses = {
  rule: 'The model',
  embedding: 'The embedding model',
  judge: 'The judge model',
  fallback: 'The fallback model',
} as const satisfies Record<WantedModel['use'], string>;

export function createMissingModels(
  wanted: () => readonly WantedModel[],
  { models, clock, log }: Needs,
): MissingModels {
  const ended = new AbortController();
  const { signal } = ended;
  const checks = createSingleFlight<void>();
  let missing: readonly WantedModel[] = [];

  const describe = ({ model, use }: WantedModel): MissingModel => {
    const { isPulled, remedy } = models.absence(model);
    return { model, use, isPulled, message: `${uses[use]} ${model} is missing. ${remedy}` };
  };

  async function look(inTime: AbortSignal): Promise<void> {
    const all = wanted();
    if (all.length > 0) await models.list(inTime);
    const found: WantedModel[] = [];
    for (const one of all) if (!(await models.find(one.model, inTime))) found.push(one);
    const isIn = (list: readonly WantedModel[], { model }: WantedModel) =>
      list.some(other => other.model === model);
    for (const one of found.filter(other => !isIn(missing, other))) {
      const { isPulled, remedy } = models.absence(one.model);
      const level = isPulled || one.use === 'fallback' ? 'info' : 'warn';
      log[level]({ ...one, remedy }, 'a model that the rules name is missing');
    }
    for (const one of missing.filter(other => isIn(all, other) && !isIn(found, other)))
      log.info(one, 'a missing model is available now');
    missing = found;
  }

  async function check(): Promise<readonly MissingModel[]> {
    try {
      await within(checkMs, { clock, signal }, inTime => checks.join('all', look, inTime));
    } catch (error) {
      // The status of Ollama explains why its models are unknown.
      const isExpected = error instanceof ModelFailure || error instanceof DeadlineExceeded;
      if (!isExpected && !signal.aborted) throw error;
    }
    return missing.map(describe);
  }

  const ticker = createTicker(clock, intervalMs, () => {
    void check();
    return true;
  });

  return {
    check,
    async start() {
      void check();
      ticker.start();
    },
    async stop() {
      ended.abort(new ModelFailure('cancelled', 'the hub stops'));
      ticker[Symbol.dispose]();
    },
  };
}
