import { messageOf } from '#core';
import type { CachesStats, Explanation } from '#enhance';
import type { DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { bytes, count, duration } from './format.ts';
import { type Content, type Html, html } from './html.ts';
import { noPrompts, noticeOf } from './actions.ts';
import { paths } from './paths.ts';
import {
  type Rights,
  actionButton,
  alert,
  atWork,
  badge,
  empty,
  facts,
  fragment,
  heading,
  loginLink,
  ownersOnly,
  table,
} from './pieces.ts';
import { meter } from './stats.ts';

type PromptLookup = {
  readonly prompt: string;
  readonly client: string;
  readonly found: Explanation | { readonly problem: string };
};

export function cachePages({ prompts, telemetry }: PageNeeds) {
  const enhancer = async () => (await prompts?.open())?.enhancer;

  async function pageOf(request: DashboardRequest, asked?: PromptLookup) {
    const stats = await (await enhancer())?.stats();
    const main = caches(stats, asked, request.visitor.rights);
    const frame = { title: 'Caches', at: 'caches', events: paths.events } as const;
    return { ...frame, main, notice: noticeOf(request) };
  }

  async function lookUp(prompt: string, client: string, signal: AbortSignal) {
    if (prompt.trim() === '') return { problem: 'prompt: is empty: write one' };
    try {
      const found = await (await enhancer())?.explain(prompt, client || undefined, signal);
      return found ?? { problem: noPrompts.failure.message };
    } catch (error) {
      return { problem: telemetry.redact(messageOf(error)) };
    }
  }

  return {
    caches: async request => ({ page: await pageOf(request) }),
    async cachesPartial() {
      const stats = await (await enhancer())?.stats();
      return stats ? { part: cachesPartial(stats) } : noPrompts;
    },
    async explain(request) {
      const prompt = request.form.get('prompt') ?? '';
      const client = (request.form.get('client') ?? '').trim();
      const asked = { prompt, client, found: await lookUp(prompt, client, request.signal) };
      return request.isHtmx ? { part: explained(asked) } : { page: await pageOf(request, asked) };
    },
  } satisfies Handlers;
}

function caches(stats: CachesStats | undefined, asked: PromptLookup | undefined, rights: Rights) {
  if (!stats)
    return html`${heading('Caches')}${empty('This hub does not improve prompts.', html`<p>Set <code>OLLAMA_HOST</code> and restart the hub.</p>`)}`;
  return html`${heading('Caches', rights === 'owner' ? clearAll : loginLink(rights, 'Log in to clear them', 'log-in-caches'))}
<p class="lead">Improved prompts are cached, for prompts that are equal and for prompts that mean the same.</p>
${cachesPartial(stats)}
<section aria-labelledby="explain"><h2 id="explain">Explain a prompt</h2>
${rights === 'owner' ? explainForm(asked) : ownersOnly(rights, 'The content of the caches')}</section>`;
}

const explainForm = (asked: PromptLookup | undefined): Html =>
  html`<p class="note">Shows whether the caches would find it, and the most similar prompts. Nothing is counted or stored.</p>
<form class="card" method="post" action="${paths.caches}" hx-post="${paths.caches}" hx-target="#explained" hx-sync="this:drop">
<p><label for="prompt">Prompt</label><textarea id="prompt" name="prompt" required>${asked?.prompt}</textarea></p>
<p><label for="client">Client <span class="note">optional</span></label><input id="client" name="client" value="${asked?.client}" autocomplete="off" spellcheck="false"></p>
<p><button class="primary">Explain</button> ${atWork}</p></form>
<div id="explained" role="status">${asked && explained(asked)}</div>`;

const clearAll = html`<div class="actions">${actionButton({ label: 'Clear both caches', path: paths.clearCache, id: 'clear', tone: 'danger' })}</div>`;

function cachesPartial({ exact, semantic, prompts }: CachesStats): Html {
  const equal = html`<section class="card" aria-labelledby="equal"><div class="heading"><h2 id="equal">Equal prompts</h2>${stateOf(exact.status.kind, exact.status.error)}</div>
<ul class="meters">${meter({ name: 'Found', hits: exact.hits + exact.joined, misses: exact.misses })}</ul>
${facts([
  ['Hits', count(exact.hits)],
  ['Misses', count(exact.misses)],
  ['Joined', count(exact.joined)],
  ['Entries', `${count(exact.entries)} of ${count(exact.maxEntries)}`],
  ['Size', `${bytes(exact.bytes)} of ${bytes(exact.maxBytes)}`],
  ['Evicted', count(exact.evictions)],
  ['Errors', count(exact.errors)],
  ['Stored in', exact.backend],
])}</section>`;
  const similar = semantic
    ? html`<section class="card" aria-labelledby="similar"><div class="heading"><h2 id="similar">Similar prompts</h2>${stateOf(semantic.vectors.status, semantic.vectors.error)}</div>
<ul class="meters">${meter({ name: 'Found', hits: semantic.hits, misses: semantic.misses })}</ul>
${facts([
  ['Hits', count(semantic.hits)],
  ['Misses', count(semantic.misses)],
  ['Hits not given (shadow)', count(semantic.shadowHits)],
  ['Entries', semantic.vectors.entries === undefined ? 'unknown' : count(semantic.vectors.entries)],
  ['Stored', count(semantic.stored)],
  ['Passed over', count(semantic.errors)],
  ['Embeddings by', semantic.model],
  ['Threshold', inWords(semantic)],
  ['Judge', semantic.judge ?? 'none'],
  ['Stored in', semantic.vectors.backend],
])}</section>`
    : html`<section class="card" aria-labelledby="similar"><h2 id="similar">Similar prompts</h2><p class="note">This cache is switched off.</p></section>`;
  const content = html`<div class="columns">${equal}${similar}</div>
<section aria-labelledby="prompts"><h2 id="prompts">Prompts since the hub started</h2>${facts([
    ['Asked', count(prompts.requests)],
    ['In progress', count(prompts.running)],
    ...Object.entries(prompts.sources).map(
      ([source, number]) => [sourceNames[source] ?? source, count(number)] as const,
    ),
    ['Without a cache', count(prompts.withoutCache)],
  ])}</section>`;
  return fragment('caches', '/dashboard/caches-partial', content);
}

const sourceNames: Readonly<Record<string, string>> = {
  model: 'Written by the model',
  l1: 'Equal prompt found',
  l2: 'Similar prompt found',
  fallback: 'Written by a fallback',
  unchanged: 'Returned unchanged',
  disabled: 'Disabled by rule',
};

const stateOf = (state: 'up' | 'down', error: string | undefined): Content =>
  html`${badge(state === 'up' ? 'good' : 'bad', state)}${error !== undefined && html`<span class="note">${error}</span>`}`;

export function explained({ found }: PromptLookup): Html {
  if ('problem' in found) return alert(found.problem);
  const { exact, semantic } = found;
  return html`<div class="card">${facts([
    ['Equal prompt', equalPrompt(exact)],
    ['Client', found.client],
    ['Rule', found.rule],
    ['Model', found.model],
    ['Not cached, because', found.refused],
    ['Similar prompts', semantic && `${semantic.mode}, threshold ${inWords(semantic)}`],
  ])}${semantic && (semantic.error === undefined ? near(semantic) : html`<p class="notice bad">${semantic.error}</p>`)}</div>`;
}

type Semantic = NonNullable<CachesStats['semantic']>;

const thresholdSources: Readonly<Record<Semantic['threshold']['from'], string>> = {
  rule: 'set by the rule',
  CACHE_SIMILARITY_THRESHOLD: 'set by CACHE_SIMILARITY_THRESHOLD',
  calibration: 'calibrated',
  default: 'by default',
};

/** Describes the active threshold and its source. */
function inWords({
  threshold,
  calibration: { compared, of } = { compared: 0, of: 0 },
}: {
  readonly threshold?: Semantic['threshold'] | undefined;
  readonly calibration?: Semantic['calibration'];
}): string {
  if (threshold?.value !== undefined)
    return `${threshold.value.toFixed(2)}, ${thresholdSources[threshold.from]}`;
  return of === 0 ? 'not calibrated yet' : `being calibrated, ${compared} of ${of} pairs`;
}

function equalPrompt({ ageMs, error }: Explanation['exact']): Content {
  if (error !== undefined)
    return html`${badge('warn', 'not known')} <span class="note">${error}</span>`;
  return ageMs === undefined
    ? badge('idle', 'not cached')
    : badge('good', `kept for ${duration(ageMs)}`);
}

function near({ entries, threshold }: NonNullable<Explanation['semantic']>): Content {
  if (entries.length === 0) return html`<p class="note">No cached prompt is similar to it.</p>`;
  const toneOf = (similarity: number) => (similarity > (threshold?.value ?? 1) ? 'good' : 'idle');
  return table('Similar cached prompts, most similar first', entries, [
    ['Cached prompt', ({ prompt }) => prompt],
    ['Similarity', ({ similarity: of }) => badge(toneOf(of), of.toFixed(3)), 'number'],
    ['Guards', ({ verdict, why }) => html`${verdict} <span class="note">${why}</span>`],
    ['Age', ({ ageMs }) => duration(ageMs), 'number'],
  ]);
}
