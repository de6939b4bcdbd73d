import type { ExactCache } from '#cache';
import type { EnhancementRules } from '#config';
import {
  type Clock,
  type Log,
  type Service,
  DeadlineExceeded,
  HubError,
  durationText,
  messageOf,
  within,
} from '#core';
import type { Models } from '#models';
import { type PromptJob, createCachedResults } from './cached-results.ts';
import { type EnhanceProgress, createChain } from './chain.ts';
import { contextSizeOf } from './context-size.ts';
import { normalizePrompt, whyTooLong } from './prompt-text.ts';
import {
  type AttemptKind,
  type EnhanceRequest,
  type Enhancement,
  type Outcome,
  inWords,
  outcomeOf,
  unchanged,
} from './result.ts';
import { type ChosenRule, createRuleBook } from './rules.ts';
import { holdsSecret } from './secrets.ts';
import type { SemanticSource } from './semantic-source.ts';

/** Improves prompts by the rules of their clients. */
export type Enhancer = ReturnType<typeof createEnhancer>;

/** Statistics of both caches, and of the prompts since the hub started. */
export type CachesStats = Awaited<ReturnType<Enhancer['stats']>>;

/** Cached entries for a prompt, and the reason if the caches are not used. */
export type Explanation = Awaited<ReturnType<Enhancer['explain']>>;

type Options = {
  readonly rules: () => EnhancementRules;
  /** Model of the rules that do not name one. */
  readonly model: string;
  /** Returns the context size (`num_ctx`) of a model. Default: the largest of the rules that use it. */
  readonly contextSize?: (model: string) => number | undefined;
};

type Needs = {
  readonly models: Models;
  readonly exact: ExactCache;
  /** Semantic cache; undefined if there is none. */
  readonly semantic: SemanticSource | undefined;
  readonly clock: Clock;
  readonly log: Log;
};

/** Maximum number of concurrent prompts. Further ones are returned unchanged. */
const maxRunning = 1000;
/** Part of a rule's total time that is reserved for the response, in ms. */
const reserveMs = 250;

/** Creates the enhancer. Does no I/O; `start` loads the model of the default rule. */
export function createEnhancer(options: Options, needs: Needs) {
  const { models, exact, semantic, clock, log } = needs;
  const book = createRuleBook(options.rules, options.model);
  const ofRules = (model: string) => contextSizeOf(model, options.rules(), options.model);
  const { contextSize = ofRules } = options;
  const chain = createChain({ ...needs, contextSize });
  const cached = createCachedResults({ ...needs, chain });
  const sources = { model: 0, l1: 0, l2: 0, fallback: 0, unchanged: 0, disabled: 0 };
  /** Numbers of failed attempts of models, by kind. */
  const failures: { [kind in AttemptKind]?: number } = {};
  /** Numbers of prompts: all, those in progress, and those that bypassed the caches, on request or due to a secret. */
  let [requests, running, withoutCache] = [0, 0, 0];

  const whyNotKept = (request: EnhanceRequest, prompt: string) =>
    !cached.isRecent(request.prompt) && holdsSecret(prompt)
      ? 'the prompt seems to hold a secret'
      : undefined;

  function whyNotImproved({ prompt, chosen: { rule } }: PromptJob): string | undefined {
    if (prompt.trim() === '') return 'the prompt is blank';
    if (models.status.kind === 'off') return 'there is no Ollama: set OLLAMA_HOST';
    const tooMany = `the hub works on ${maxRunning} prompts already: try again later`;
    return whyTooLong(prompt, rule) ?? (running > maxRunning ? tooMany : undefined);
  }

  async function improve(job: PromptJob, signal: AbortSignal): Promise<Outcome> {
    const { request, chosen, prompt, attempts } = job;
    const { rule, name } = chosen;
    if (!rule.enabled) {
      const off = unchanged(request, `the rule "${name}" has "enabled": false`, 'disabled');
      return { ...off, source: 'disabled' };
    }
    const reason = whyNotImproved(job);
    if (reason !== undefined) return unchanged(request, reason, 'disabled');
    const secret = whyNotKept(request, prompt);
    const refused = request.bypass ? 'X-Cache-Bypass was sent' : secret;
    try {
      return await within(rule.totalMs, { clock, signal }, async inTime => {
        if (refused === undefined) return await cached.findOrMake(job, inTime);
        const made = await cached.renew(job, secret === undefined, inTime);
        const outcome = outcomeOf(made, request);
        return { ...outcome, cache: 'bypass', reason: outcome.reason ?? refused };
      });
    } catch (error) {
      signal.throwIfAborted();
      const isLate = error instanceof DeadlineExceeded;
      const isStopping = error instanceof HubError && error.code === 'HUB_SHUTTING_DOWN';
      if (!isLate && !isStopping)
        log.error({ error: messageOf(error) }, 'improving a prompt failed');
      const why = isLate
        ? `no result within ${durationText(rule.totalMs)}`
        : `the hub could not improve it: ${messageOf(error)}`;
      const failure = [why, ...attempts.map(inWords)].join('. ');
      if (!isStopping) chain.logSilence(failure, attempts);
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

  /**
   * Returns the cached result for a recent prompt, as `enhance` would; without a promise if the cache is in memory.
   * Never rejects.
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
    const outcome = cached.recent(request, chosen);
    return outcome instanceof Promise ? outcome.then(answer) : answer(outcome);
  }

  /**
   * Improves a prompt. Resolves within the total time of the rule: with a result from a cache or a model, or with the
   * given prompt and a reason. Rejects only if `signal` is aborted, with its reason.
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
    const job: PromptJob = {
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
    const prompt = normalizePrompt(given);
    return {
      client: chosen.client,
      rule: chosen.name,
      model: chosen.models[0],
      /** Reason why the caches are not used for this prompt; undefined if they are. */
      refused: whyNotKept({ prompt: given }, prompt),
      ...(await cached.explain(prompt, chosen, signal)),
    };
  }

  const service: Service = {
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
    forget: (client?: string) => cached.forget(client),
    stats: async () => ({
      prompts: structuredClone({ requests, running, sources, withoutCache, failures }),
      exact: await exact.stats(),
      /** Statistics of the semantic cache; undefined if it is not loaded and no rule uses it. */
      semantic: await semantic?.stats(),
    }),
  };
}
