import { messageOf } from '#core';
import {
  type PromptLookup,
  type HitRate,
  caches,
  cachesPartial,
  explained,
  paths,
} from '#dashboard';
import type { Given } from './given.ts';
import type { DashboardAnswers } from './needs.ts';
import { formOf, isHtmx } from './request.ts';
import { noPrompts, noticeOf } from './actions.ts';
import { hangUpOf } from '../routes/events.ts';
import type { PromptHealth } from '../routes/prompt-health.ts';

/** Hit rates of the loaded prompt caches. */
export async function hitRatesOf(
  health: Pick<PromptHealth, 'loaded'> | undefined,
): Promise<readonly HitRate[]> {
  const prompts = await health?.loaded()?.catch(() => undefined); // The failed start is logged.
  if (!prompts) return [];
  const { exact, semantic } = await prompts.enhancer.stats();
  const equal = { name: 'Equal prompts', hits: exact.hits + exact.joined, misses: exact.misses };
  if (!semantic) return [equal];
  return [equal, { name: 'Similar prompts', hits: semantic.hits, misses: semantic.misses }];
}

/** The caches page. */
export function cachePages(
  given: Given,
): Pick<DashboardAnswers, 'caches' | 'cachesPartial' | 'explain'> {
  const { page, part, redact, refuse } = given;
  const enhancer = async () => (await given.prompts?.())?.enhancer;
  const title = { title: 'Caches', at: 'caches', events: paths.events } as const;

  async function explain(
    prompt: string,
    client: string,
    signal: AbortSignal,
  ): Promise<PromptLookup> {
    const found = await (await enhancer())?.explain(prompt, client || undefined, signal);
    return {
      prompt,
      client,
      found: found ?? { problem: noPrompts.message },
    };
  }

  return {
    async caches(request, reply) {
      const stats = await (await enhancer())?.stats();
      return page(reply, {
        ...title,
        main: caches({ stats, asked: undefined, rights: given.visitorOf(request).rights }),
        notice: noticeOf(request),
      });
    },
    async cachesPartial(request, reply) {
      const stats = await (await enhancer())?.stats();
      if (!stats) return refuse(request, reply, 409, noPrompts);
      return part(reply, cachesPartial(stats));
    },
    async explain(request, reply) {
      const form = formOf(request);
      const prompt = form.get('prompt') ?? '';
      const client = (form.get('client') ?? '').trim();
      const signal = hangUpOf(reply);
      const asked =
        prompt.trim() === ''
          ? { prompt, client, found: { problem: 'prompt: is empty: write one' } }
          : await explain(prompt, client, signal).catch((error: unknown) => ({
              prompt,
              client,
              found: { problem: redact(messageOf(error)) },
            }));
      if (isHtmx(request)) return part(reply, explained(asked));
      const stats = await (await enhancer())?.stats();
      const { rights } = given.visitorOf(request);
      return page(reply, { ...title, main: caches({ stats, asked, rights }) });
    },
  };
}
