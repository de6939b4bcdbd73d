import type { ExactCache, Fill } from '#cache';
import { foldClientName } from '#config';
import { type Clock, type Log, messageOf, within } from '#core';
import type { Models } from '#models';
import type { PromptWork, createChain } from './chain.ts';
import { forgetResults } from './forget-results.ts';
import { createModelDigests } from './model-digests.ts';
import { createRecentPrompts } from './recent-prompts.ts';
import {
  type CachedResult,
  type EnhanceRequest,
  type Outcome,
  hitOf,
  outcomeOf,
  parseResult,
} from './result.ts';
import { type ChosenRule, keysOf } from './rules.ts';
import type { SemanticSource } from './semantic-source.ts';

type Needs = {
  readonly models: Models;
  readonly exact: ExactCache;
  readonly semantic: SemanticSource | undefined;
  readonly chain: Pick<ReturnType<typeof createChain>, 'run'>;
  readonly clock: Clock;
  readonly log: Log;
};

export type PromptJob = PromptWork & { readonly request: EnhanceRequest };

/** Maximum wait for the digest of a rule's model, as a share of the rule's total time. */
const digestShare = 0.1;
/** Timeout for the replacement of an entry, in ms. Short, because the client waits. */
const replaceMs = 250;

/** Creates the results of rules: finds them in both caches, or gets them from models and stores them in both caches. */
export function createCachedResults(needs: Needs) {
  const { models, exact, semantic, chain, clock, log } = needs;
  const digests = createModelDigests(needs);
  const recent = createRecentPrompts(needs);
  /** Incremented by each `forget`. A result that was begun in an earlier epoch is not stored. */
  let epoch = 0;

  const digestOf = ({ models: [model], rule }: ChosenRule, signal: AbortSignal) =>
    digests.find(model, rule.totalMs * digestShare, signal);

  const optionsFor = ({ client, rule }: ChosenRule) => ({ tag: client, ttlMs: rule.ttlMs });

  async function make(
    job: PromptJob,
    scope: string | undefined,
    signal: AbortSignal,
  ): Promise<CachedResult> {
    const { chosen, prompt } = job;
    const ruled = scope === undefined ? undefined : { prompt, chosen, scope };
    return (ruled && (await semantic?.find(ruled, signal))) ?? (await chain.run(job, signal));
  }

  /** Replaces the result of a prompt in both caches. Never rejects unless the signal aborts. */
  async function replace(
    { chosen, prompt }: PromptJob,
    made: CachedResult & { readonly kind: 'made' },
    signal: AbortSignal,
  ): Promise<void> {
    const { key, scope } = keysOf(chosen, made.digest, prompt);
    if (scope !== undefined) semantic?.keep({ prompt, chosen, scope }, made.prompt);
    const options = { ...optionsFor(chosen), replaces: true };
    const fill: Fill = async () => ({ value: JSON.stringify(made), isKept: true });
    try {
      await within(replaceMs, { clock, signal }, inTime =>
        exact.getOrFill(key, options, fill, inTime),
      );
    } catch (error) {
      signal.throwIfAborted();
      log.debug({ error: messageOf(error) }, 'a cached result could not be replaced');
    }
  }

  return {
    /** Returns the cached result of a recent prompt; without a promise if the cache is in memory. */
    recent: (request: EnhanceRequest, chosen: ChosenRule) => recent.hit(request, chosen),
    /** True if the prompt was cached recently, which means that it contains no secret. */
    isRecent: recent.has,
    /** Returns the result from a cache, or a new one. Rejects only with the reason of `signal`. */
    async findOrMake(job: PromptJob, signal: AbortSignal): Promise<Outcome> {
      const { request, chosen, prompt } = job;
      const digest = models.known(chosen.models[0])?.digest || (await digestOf(chosen, signal));
      const { key, scope } = keysOf(chosen, digest, prompt);
      if (digest !== undefined) recent.note(request.prompt, { chosen, digest, key });
      const fill: Fill = async flight => {
        const before = epoch;
        const made = await make(job, scope, flight);
        const isKept = made.kind === 'made' && made.isOwn && made.digest === digest;
        if (isKept && scope !== undefined && epoch === before)
          semantic?.keep({ prompt, chosen, scope }, made.prompt);
        return { value: JSON.stringify(made), isKept };
      };
      const isReadable = (value: string) => parseResult(value) !== undefined;
      const options = { ...optionsFor(chosen), isReadable };
      const found = await exact.getOrFill(key, options, fill, signal);
      const result = parseResult(found.value);
      // The entry of another program was returned, which Redis had not removed.
      if (!result) return outcomeOf(await make(job, undefined, signal), request);
      return (
        (found.from === 'hit' ? hitOf(found, result) : undefined) ?? outcomeOf(result, request)
      );
    },
    /** Makes a new result, which replaces the cached one if `isKept`. Rejects only with the reason of `signal`. */
    async renew(job: PromptJob, isKept: boolean, signal: AbortSignal): Promise<CachedResult> {
      const before = epoch;
      const made = await chain.run(job, signal);
      if (isKept && made.kind === 'made' && made.isOwn && epoch === before)
        await replace(job, made, signal);
      return made;
    },
    /** Returns the entries that both caches have for a prompt. */
    async explain(prompt: string, chosen: ChosenRule, signal: AbortSignal) {
      const digest = await digestOf(chosen, signal);
      const { key, scope } = keysOf(chosen, digest, prompt);
      const peeked: { readonly ageMs: number | undefined; readonly error?: string } = await exact
        .peek(key)
        .then(
          found => ({ ageMs: found && Math.round(found.ageMs) }),
          (error: unknown) => ({ ageMs: undefined, error: messageOf(error) }),
        );
      const similar = scope && (await semantic?.explain({ prompt, chosen, scope }, signal));
      return {
        digest,
        /** Entry of the exact cache. Its age is undefined if there is no entry, or if the cache could not be read. */
        exact: { key, ...peeked },
        /** Similar entries; undefined if the digest of the model is unknown, or there is no semantic cache. */
        semantic: similar || undefined,
      };
    },
    /** Removes the results of a client, or all results, like `forgetResults`. */
    async forget(client: string | undefined) {
      epoch++;
      return await forgetResults(exact, semantic, client && foldClientName(client));
    },
  };
}
