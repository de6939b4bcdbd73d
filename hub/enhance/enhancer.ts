import type { ExactCache, Fill } from '#cache';
import { type EnhancementRules, foldClientName } from '#config';
import { type Clock, type Log, type Service, DeadlineExceeded, messageOf, within } from '#core';
import type { Models } from '#models';
import { type Attempt, type EnhanceProgress, createChain } from './chain.ts';
import { createCounts } from './counts.ts';
import { createDigests } from './digests.ts';
import type { EnhanceRequest, Enhancement } from './enhancement.ts';
import { forgetResults } from './forget-results.ts';
import type { CachesStats, Explanation } from './insight.ts';
import { type Kept, readKept, writeKept } from './kept.ts';
import { keysOf } from './keys.ts';
import { normalizePrompt } from './normalize.ts';
import { type ChosenRule, createRuleBook } from './rules.ts';
import { createRecent } from './recent.ts';
import { holdsSecret } from './secrets.ts';
import type { SemanticCache } from './semantic.ts';
import { type Outcome, hitOf, inWords, outcomeOf, unchanged } from './outcome.ts';
import { whyTooLong } from './window.ts';
import { createNear } from './near.ts';

/** Makes prompts better, by the rule of the client. */
export interface Enhancer extends Service {
  /**
   * What `enhance` would find in the cache of equal prompts, for a prompt that came lately: at once where that
   * is in memory. It never rejects.
   */
  atHand(request: EnhanceRequest): Enhancement | undefined | Promise<Enhancement | undefined>;
  /**
   * The rule's result, from a cache or a model, or the prompt as it came with the reason: within the rule's
   * total time whatever happens. Rejects with the reason of `signal`, and for nothing else.
   */
  enhance(
    request: EnhanceRequest,
    signal: AbortSignal,
    tell?: (progress: EnhanceProgress) => void,
  ): Promise<Enhancement>;
  explain(prompt: string, client: string | undefined, signal: AbortSignal): Promise<Explanation>;
  /**
   * Forgets the results of a client, or all; resolves with how many entries of each cache. Rejects with
   * HUB_CACHE_UNREACHABLE where those of one cache could not be removed now.
   */
  forget(client?: string): Promise<{ readonly exact: number; readonly semantic: number }>;
  /** What both caches hold and have done, and what has become of prompts. */
  stats(): Promise<CachesStats>;
}

type Options = {
  /** The rules of the moment. */
  readonly rules: () => EnhancementRules;
  /** For rules that name no model. */
  readonly model: string;
  /** How alike prompts must be where the rule does not say. */
  readonly threshold: number;
};

type Needs = {
  readonly models: Models;
  readonly exact: ExactCache;
  /** Undefined: prompts that are not equal share nothing. */
  readonly semantic: SemanticCache | undefined;
  readonly clock: Clock;
  readonly log: Log;
};

/** Prompts that are worked on at the same time; more are given back at once. */
const maxRunning = 1000;
/** What of the rule's time is kept back to answer in. */
const reserveMs = 250;
/** And what of it may pass before it is known which model is there. */
const digestShare = 0.1;

/** A prompt that is worked on. */
type Job = {
  readonly request: EnhanceRequest;
  readonly chosen: ChosenRule;
  /** As caches and models get it. */
  readonly prompt: string;
  readonly endsAt: number;
  /** The models that gave nothing so far. */
  readonly attempts: Attempt[];
  readonly tell: (progress: EnhanceProgress) => void;
};

/** Construction reaches nothing; `start` warms up the model of the rule for all clients. */
export function createEnhancer(options: Options, needs: Needs): Enhancer {
  const { models, exact, semantic, clock, log } = needs;
  const book = createRuleBook(options.rules, options.model);
  const chain = createChain({ models, clock, log });
  const digests = createDigests({ models, clock });
  const near = semantic && createNear(options, { semantic, clock, log });
  const counts = createCounts();
  const recent = createRecent({ models, exact });
  let isSilent = false;

  /** Why neither cache is looked into for a prompt, and its result not kept. */
  function whyNotCached(request: EnhanceRequest, prompt: string): string | undefined {
    if (request.bypass) return 'X-Cache-Bypass was sent';
    if (recent.has(request.prompt)) return undefined;
    return holdsSecret(prompt) ? 'the prompt seems to hold a secret' : undefined;
  }

  async function improve(job: Job, signal: AbortSignal): Promise<Outcome> {
    const { request, chosen, prompt } = job;
    const { rule, name } = chosen;
    if (!rule.enabled)
      return {
        ...unchanged(request, `the rule "${name}" has "enabled": false`, 'disabled'),
        source: 'disabled',
      };
    const reason =
      (prompt.trim() === '' ? 'the prompt is blank' : undefined) ??
      (models.status.kind === 'off' ? 'there is no Ollama: set OLLAMA_HOST' : undefined) ??
      whyTooLong(prompt, rule) ??
      (counts.running > maxRunning ? tooMany : undefined);
    if (reason !== undefined) return unchanged(request, reason, 'disabled');
    const refused = whyNotCached(request, prompt);
    try {
      return await within(rule.totalMs, { clock, signal }, async inTime => {
        if (refused === undefined) return await withCaches(job, inTime);
        const outcome = outcomeOf(await make(job, undefined, inTime), request);
        return { ...outcome, cache: 'bypass', reason: outcome.reason ?? refused };
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof DeadlineExceeded))
        log.error({ error: messageOf(error) }, 'a prompt could not be worked on');
      const why =
        error instanceof DeadlineExceeded
          ? `nothing came of it within ${rule.totalMs / 1000} s`
          : `the hub could not work on it: ${messageOf(error)}`;
      const reason = [why, ...job.attempts.map(inWords)].join('. ');
      fellSilent(reason);
      return unchanged(request, reason, refused === undefined ? 'miss' : 'bypass', job.attempts);
    }
  }

  function atHand(
    request: EnhanceRequest,
  ): Enhancement | undefined | Promise<Enhancement | undefined> {
    const startedAt = clock.monotonic();
    const chosen = book.choose(request.client);
    const answer = (outcome: Outcome | undefined) => {
      if (!outcome) return undefined;
      counts.hit(outcome);
      return whole(outcome, chosen, startedAt);
    };
    const outcome = recent.hit(request, chosen);
    return outcome instanceof Promise ? outcome.then(answer) : answer(outcome);
  }

  function whole(outcome: Outcome, { client, name }: ChosenRule, startedAt: number): Enhancement {
    const tookMs = Math.round(clock.monotonic() - startedAt);
    return { ...outcome, client, rule: name, tookMs };
  }

  async function withCaches(job: Job, signal: AbortSignal): Promise<Outcome> {
    const { request, chosen, prompt } = job;
    const [model] = chosen.models;
    const digest =
      models.known(model)?.digest ||
      (await digests.find(model, chosen.rule.totalMs * digestShare, signal));
    const keys = keysOf(chosen, digest, prompt);
    if (digest !== undefined) recent.note(request.prompt, { chosen, digest, key: keys.exact });
    const fill: Fill = async flight => {
      const { scope } = keys;
      const epoch = near?.epoch;
      const made = await make(job, scope, flight);
      const isKept = made.kind === 'made' && made.isOwn && made.digest === digest;
      if (isKept && scope !== undefined && near?.epoch === epoch)
        near?.keep({ prompt, chosen, scope }, made.prompt);
      return { value: writeKept(made), isKept };
    };
    const keeping = {
      tag: chosen.client,
      ttlMs: chosen.rule.ttlMs,
      isReadable: (value: string) => readKept(value) !== undefined,
    };
    const found = await exact.getOrFill(keys.exact, keeping, fill, signal);
    const kept = readKept(found.value);
    // What another program has put there could not be removed.
    if (!kept) return outcomeOf(await make(job, undefined, signal), request);
    return (found.from === 'hit' ? hitOf(found, kept) : undefined) ?? outcomeOf(kept, request);
  }

  /** It is told once, until a model answers again. */
  function fellSilent(reason: string): void {
    if (!isSilent) log.warn({ reason }, 'no model answers: prompts are given back unchanged');
    isSilent = true;
  }

  /** From a prompt that means the same, or from the models. Without a scope none is looked for. */
  async function make(job: Job, scope: string | undefined, signal: AbortSignal): Promise<Kept> {
    const { chosen, prompt, attempts } = job;
    if (scope !== undefined) {
      const found = await near?.find({ prompt, chosen, scope }, signal);
      if (found) return found;
    }
    const found = await chain.run(job, signal);
    if (!found) {
      const reason = attempts.map(inWords).join('. ') || 'no time was left for a model';
      fellSilent(reason);
      return { kind: 'none', reason, attempts };
    }
    const { text, model, digest } = found;
    if (isSilent) log.info({ model }, 'prompts are improved again');
    isSilent = false;
    const isOwn = model === chosen.models[0];
    return { kind: 'made', prompt: text, model, digest, isOwn, attempts };
  }

  return {
    name: 'enhancer',
    async start() {
      const { rule, models: wanted } = book.choose(undefined);
      if (rule.enabled) models.warmUp(wanted[0], { num_ctx: rule.options.num_ctx });
    },
    async stop() {
      near?.stop();
    },
    atHand,
    async enhance(request, signal, tell = () => {}) {
      signal.throwIfAborted();
      const ready = await atHand(request);
      if (ready) return ready;
      signal.throwIfAborted();
      const startedAt = clock.monotonic();
      const chosen = book.choose(request.client);
      using _ = counts.begin();
      const outcome = await improve(
        {
          request,
          chosen,
          prompt: normalizePrompt(request.prompt),
          endsAt: startedAt + chosen.rule.totalMs - reserveMs,
          attempts: [],
          tell(progress) {
            if (progress.step === 'failed') counts.failed(progress.kind);
            tell(progress);
          },
        },
        signal,
      );
      counts.end(outcome);
      return whole(outcome, chosen, startedAt);
    },
    async explain(given, client, signal) {
      const chosen = book.choose(client);
      const prompt = normalizePrompt(given);
      const digest = await digests.find(
        chosen.models[0],
        chosen.rule.totalMs * digestShare,
        signal,
      );
      const keys = keysOf(chosen, digest, prompt);
      const { exact: key, scope } = keys;
      const peeked = await exact.peek(key).then(
        found => ({ ageMs: found && Math.round(found.ageMs) }),
        (error: unknown) => ({ ageMs: undefined, error: messageOf(error) }),
      );
      return {
        client: chosen.client,
        rule: chosen.name,
        model: chosen.models[0],
        digest,
        refused: whyNotCached({ prompt: given }, prompt),
        exact: { key, ...peeked },
        semantic:
          scope === undefined ? undefined : await near?.explain({ prompt, chosen, scope }, signal),
      };
    },
    async stats() {
      return {
        prompts: counts.stats,
        exact: await exact.stats(),
        semantic: await semantic?.stats(),
      };
    },
    forget: client =>
      forgetResults(exact, near, client === undefined ? undefined : foldClientName(client)),
  };
}

const tooMany = `the hub works on ${maxRunning} prompts already: try again later`;
