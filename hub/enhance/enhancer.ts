import type { ExactCache, Fill } from '#cache';
import { type EnhancementRules, foldClientName } from '#config';
import {
  type Clock,
  type Log,
  type Service,
  DeadlineExceeded,
  durationText,
  messageOf,
  within,
} from '#core';
import type { Models } from '#models';
import { type EnhanceProgress, type PromptWork, createChain } from './chain.ts';
import { contextSizeOf } from './context-size.ts';
import { forgetResults } from './forget-results.ts';
import { createModelDigests } from './model-digests.ts';
import { normalizePrompt, whyTooLong } from './prompt-text.ts';
import { createRecentPrompts } from './recent-prompts.ts';
import {
  type AttemptKind,
  type CachedResult,
  type EnhanceRequest,
  type Enhancement,
  type Outcome,
  hitOf,
  inWords,
  outcomeOf,
  parseResult,
  unchanged,
} from './result.ts';
import { type ChosenRule, createRuleBook, keysOf } from './rules.ts';
import { holdsSecret } from './secrets.ts';
import type { SemanticSource } from './semantic-source.ts';

/** Improves prompts by the rules of their clients. */
export type Enhancer = ReturnType<typeof createEnhancer>;

/** Statistics of both caches, and of the prompts since the hub started. */
export type CachesStats = Awaited<ReturnType<Enhancer['stats']>>;

/** Whether the result for a prompt is cached, and why. */
export type Explanation = Awaited<ReturnType<Enhancer['explain']>>;

type Options = {
  readonly rules: () => EnhancementRules;
  /** For rules that name no model. */
  readonly model: string;
};

type Needs = {
  readonly models: Models;
  readonly exact: ExactCache;
  /** Undefined: there is no semantic cache. */
  readonly semantic: SemanticSource | undefined;
  readonly clock: Clock;
  readonly log: Log;
};

/** Maximum number of prompts in progress. Further ones are returned unchanged. */
const maxRunning = 1000;
/** Part of the total time that is reserved for the answer, in ms. */
const reserveMs = 250;
/** Share of the total time to wait for the digest of the model. */
const digestShare = 0.1;

type Job = PromptWork & { readonly request: EnhanceRequest };

/** Does no I/O; `start` loads the model of the default rule. */
export function createEnhancer(options: Options, needs: Needs) {
  const { models, exact, semantic, clock, log } = needs;
  const book = createRuleBook(options.rules, options.model);
  const contextSize = (model: string) => contextSizeOf(model, options.rules(), options.model);
  const chain = createChain({ ...needs, contextSize });
  const digests = createModelDigests(needs);
  const recent = createRecentPrompts(needs);
  const sources = { model: 0, l1: 0, l2: 0, fallback: 0, unchanged: 0, disabled: 0 };
  /** Failed attempts of models by kind. */
  const failures: { [kind in AttemptKind]?: number } = {};
  /** Prompts, those in progress, and those for which no cache was used: on request, or because of a secret. */
  let [requests, running, withoutCache] = [0, 0, 0];

  function whyNotCached(request: EnhanceRequest, prompt: string): string | undefined {
    if (request.bypass) return 'X-Cache-Bypass was sent';
    if (recent.has(request.prompt)) return undefined;
    return holdsSecret(prompt) ? 'the prompt seems to hold a secret' : undefined;
  }

  function whyNotImproved({ prompt, chosen: { rule } }: Job): string | undefined {
    if (prompt.trim() === '') return 'the prompt is blank';
    if (models.status.kind === 'off') return 'there is no Ollama: set OLLAMA_HOST';
    const tooMany = `the hub works on ${maxRunning} prompts already: try again later`;
    return whyTooLong(prompt, rule) ?? (running > maxRunning ? tooMany : undefined);
  }

  async function improve(job: Job, signal: AbortSignal): Promise<Outcome> {
    const { request, chosen, prompt, attempts } = job;
    const { rule, name } = chosen;
    if (!rule.enabled) {
      const off = unchanged(request, `the rule "${name}" has "enabled": false`, 'disabled');
      return { ...off, source: 'disabled' };
    }
    const reason = whyNotImproved(job);
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
      const isLate = error instanceof DeadlineExceeded;
      if (!isLate) log.error({ error: messageOf(error) }, 'improving a prompt failed');
      const why = isLate
        ? `no result within ${durationText(rule.totalMs)}`
        : `the hub could not improve it: ${messageOf(error)}`;
      const failure = [why, ...attempts.map(inWords)].join('. ');
      chain.logSilence(failure);
      return unchanged(request, failure, refused === undefined ? 'miss' : 'bypass', attempts);
    }
  }

  function enhancementOf(
    outcome: Outcome,
    { client, name }: ChosenRule,
    startedAt: number,
  ): Enhancement {
    sources[outcome.source]++;
    const tookMs = Math.round(clock.monotonic() - startedAt);
    return { ...outcome, client, rule: name, tookMs };
  }

  async function withCaches(job: Job, signal: AbortSignal): Promise<Outcome> {
    const { request, chosen, prompt } = job;
    const [model] = chosen.models;
    const digest =
      models.known(model)?.digest ||
      (await digests.find(model, chosen.rule.totalMs * digestShare, signal));
    const { key, scope } = keysOf(chosen, digest, prompt);
    if (digest !== undefined) recent.note(request.prompt, { chosen, digest, key });
    const fill: Fill = async flight => {
      const epoch = semantic?.epoch;
      const made = await make(job, scope, flight);
      const isKept = made.kind === 'made' && made.isOwn && made.digest === digest;
      if (isKept && scope !== undefined && semantic?.epoch === epoch)
        semantic?.keep({ prompt, chosen, scope }, made.prompt);
      return { value: JSON.stringify(made), isKept };
    };
    const keeping = {
      tag: chosen.client,
      ttlMs: chosen.rule.ttlMs,
      isReadable: (value: string) => parseResult(value) !== undefined,
    };
    const found = await exact.getOrFill(key, keeping, fill, signal);
    const result = parseResult(found.value);
    // Redis did not remove the entry of another program.
    if (!result) return outcomeOf(await make(job, undefined, signal), request);
    return (found.from === 'hit' ? hitOf(found, result) : undefined) ?? outcomeOf(result, request);
  }

  /** Asks the semantic cache, unless there is no scope, and then the models. */
  async function make(
    job: Job,
    scope: string | undefined,
    signal: AbortSignal,
  ): Promise<CachedResult> {
    const { chosen, prompt } = job;
    const ruled = scope === undefined ? undefined : { prompt, chosen, scope };
    return (ruled && (await semantic?.find(ruled, signal))) ?? (await chain.run(job, signal));
  }

  /**
   * The cached result for a recent prompt, as `enhance` would return it; without a promise if the cache is in
   * memory. Never rejects.
   */
  function atHand(
    request: EnhanceRequest,
  ): Enhancement | undefined | Promise<Enhancement | undefined> {
    const startedAt = clock.monotonic();
    const chosen = book.choose(request.client);
    const answer = (outcome: Outcome | undefined) => {
      if (!outcome) return undefined;
      requests++;
      return enhancementOf(outcome, chosen, startedAt);
    };
    const outcome = recent.hit(request, chosen);
    return outcome instanceof Promise ? outcome.then(answer) : answer(outcome);
  }

  /**
   * Resolves within the total time of the rule: with a result from a cache or a model, or with the given prompt and
   * the reason. Rejects only with the reason of `signal`.
   */
  async function enhance(
    request: EnhanceRequest,
    signal: AbortSignal,
    tell: (progress: EnhanceProgress) => void = () => {},
  ): Promise<Enhancement> {
    signal.throwIfAborted();
    const ready = await atHand(request);
    if (ready) return ready;
    signal.throwIfAborted();
    const startedAt = clock.monotonic();
    const chosen = book.choose(request.client);
    const job: Job = {
      request,
      chosen,
      prompt: normalizePrompt(request.prompt),
      endsAt: startedAt + chosen.rule.totalMs - reserveMs,
      attempts: [],
      tell(progress) {
        if (progress.step === 'failed')
          failures[progress.kind] = (failures[progress.kind] ?? 0) + 1;
        tell(progress);
      },
    };
    requests++;
    running++;
    try {
      const outcome = await improve(job, signal);
      if (outcome.cache === 'bypass') withoutCache++;
      return enhancementOf(outcome, chosen, startedAt);
    } finally {
      running--;
    }
  }

  async function explain(given: string, client: string | undefined, signal: AbortSignal) {
    const chosen = book.choose(client);
    const { client: named, name, rule } = chosen;
    const [model] = chosen.models;
    const prompt = normalizePrompt(given);
    const digest = await digests.find(model, rule.totalMs * digestShare, signal);
    const { key, scope } = keysOf(chosen, digest, prompt);
    const peeked: { readonly ageMs: number | undefined; readonly error?: string } = await exact
      .peek(key)
      .then(
        found => ({ ageMs: found && Math.round(found.ageMs) }),
        (error: unknown) => ({ ageMs: undefined, error: messageOf(error) }),
      );
    const similar = scope && (await semantic?.explain({ prompt, chosen, scope }, signal));
    return {
      client: named,
      rule: name,
      model,
      digest,
      /** Why the caches are not used for this prompt. */
      refused: whyNotCached({ prompt: given }, prompt),
      /** Without an age there is no entry, or an error. */
      exact: { key, ...peeked },
      /** Undefined if the digest of the model is not known, or there is no semantic cache. */
      semantic: similar || undefined,
    };
  }

  const service: Service = {
    name: 'enhancer',
    async start() {
      const { rule, models: wanted } = book.choose(undefined);
      const size = contextSize(wanted[0]) ?? rule.options.num_ctx;
      if (rule.enabled) models.warmUp(wanted[0], { num_ctx: size });
    },
    async stop() {
      semantic?.stop();
    },
  };

  return {
    ...service,
    atHand,
    enhance,
    explain,
    /** Removes the results of a client, or all, as `forgetResults` does. */
    forget: (client?: string) =>
      forgetResults(exact, semantic, client === undefined ? undefined : foldClientName(client)),
    stats: async () => ({
      prompts: structuredClone({ requests, running, sources, withoutCache, failures }),
      exact: await exact.stats(),
      /** Undefined if no rule uses the semantic cache. */
      semantic: await semantic?.stats(),
    }),
  };
}
