import { HubError, isObject } from '#core';
import { visible } from '#definitions';
import { answerOf, having } from './actions.ts';
import type { DashboardUpgrades, Handlers, PageNeeds } from './dashboard-types.ts';
import { type Content, type Html, html } from './html.ts';
import { paths } from './paths.ts';
import { type Tone, badge, empty, failed, heading, serverLink, table } from './pieces.ts';

type PackageState = Awaited<ReturnType<DashboardUpgrades['outdated']>>[number];
type Row = {
  readonly state: PackageState;
  /** Package to which a rollback returns. */
  readonly earlier: string | undefined;
};
type Plan = Awaited<ReturnType<DashboardUpgrades['upgrade']>>;

/** Creates the pages of servers' versions: changes in a newer version, upgrade and rollback. */
export function upgradePages({ hub: { upgrades }, changes, system: { log } }: PageNeeds) {
  const withUpgrades = having(upgrades, noUpgrades);

  return {
    versions: withUpgrades(async ({ outdated, earlier }, { signal }) => {
      const rows = await Promise.all(
        (await outdated(signal)).map(async state => ({
          state,
          earlier: await earlier(state.name),
        })),
      );
      const main = html`${heading('Versions')}
<p class="lead">Servers that are npm or PyPI packages. The registries were asked just now. Trying a version installs it beside the running one, which may take minutes, and shows what it changes before anything does.</p>
${versionTable(rows)}`;
      return { page: { title: 'Versions', at: 'overview', main } };
    }),
    /** Tries a version out and shows what it would change, without changing anything. */
    tryUpgrade: withUpgrades(async (all, { param, form, signal }) => {
      const name = param('name');
      const version = versionIn(form);
      const plan = await all.upgrade({ name, version, isDry: true }, tellNobody, signal);
      const main = html`<p class="crumbs"><a href="${paths.versions}">Versions</a></p>
${heading(`Upgrade ${name}?`)}
${planPart(plan, version)}`;
      return { page: { title: `Upgrade ${name}`, at: 'overview', main } };
    }),
    upgrade: withUpgrades(async (all, request) => {
      const name = request.param('name');
      const accept = request.form.get('accept') ?? undefined;
      const wanted = { name, version: versionIn(request.form), accept, isDry: false };
      const { to } = await all.upgrade(wanted, tellNobody, request.signal);
      log.info({ server: name, to }, 'upgraded on the dashboard');
      changes.note('server');
      return answerOf(request, { done: 'upgrade', about: name, page: paths.server(name) });
    }),
    rollback: withUpgrades(async (all, request) => {
      const name = request.param('name');
      await all.rollback(name, tellNobody, request.signal);
      changes.note('server');
      return answerOf(request, { done: 'rollback', about: name, page: paths.server(name) });
    }),
  } satisfies Handlers;
}

/** Ignores progress: pages are answered when the work is done. */
const tellNobody = () => {};

const noUpgrades = failed(
  409,
  'Not here',
  'This hub does not change its config file. Change the version in the entry of the server: the hub reads it again by itself.',
);

const maxVersion = 200;

function versionIn(form: URLSearchParams): string | undefined {
  const version = form.get('version') ?? '';
  if (version.length > maxVersion)
    throw new HubError('HUB_REQUEST_INVALID', 'version: it is too long to be a version');
  return version === '' ? undefined : version;
}

const shownStates = {
  outdated: ['warn', 'outdated'],
  current: ['good', 'up to date'],
  unpinned: ['idle', 'no fixed version'],
  unknown: ['idle', 'unknown'],
} as const satisfies Readonly<Record<PackageState['state'], readonly [tone: Tone, text: string]>>;

function versionTable(rows: readonly Row[]): Html {
  if (rows.length === 0)
    return empty(
      'No server is an npm or PyPI package.',
      html`<p><a href="${paths.catalog}">Find one in the catalog</a></p>`,
    );
  return table('Versions of servers', rows, [
    ['Server', ({ state: { name } }) => serverLink(name, `version-${name}`)],
    ['Package', ({ state }) => html`<code>${state.package}</code>`],
    ['Installed', ({ state }) => state.current ?? 'not fixed'],
    ['Newest', ({ state }) => state.newest ?? undefined],
    ['State', ({ state }) => stateOf(state)],
    ['Actions', versionActions],
  ]);
}

function stateOf(state: PackageState): Html {
  const [tone, text] = shownStates[state.state];
  const why = state['why'];
  return html`${badge(tone, text)}${typeof why === 'string' && html` <span class="note">${why}</span>`}`;
}

function versionActions({ state: { name, state, newest }, earlier }: Row): Html {
  const isNewer = (state === 'outdated' || state === 'unpinned') && newest !== null;
  return html`<div class="actions">${isNewer && tryForm(name, newest)}${earlier !== undefined && rollbackForm(name, earlier)}</div>`;
}

const tryForm = (name: string, version: string): Html =>
  html`<form method="post" action="${paths.upgrade(name)}"><input type="hidden" name="version" value="${version}"><button class="primary" id="try-${name}" aria-label="Try ${version} of ${name}">Try ${version}</button></form>`;

const rollbackForm = (name: string, earlier: string): Html =>
  html`<form method="post" action="${paths.action('rollback', name)}"><button id="rollback-${name}" aria-label="Roll ${name} back to ${earlier}">Roll back to ${versionOf(earlier)}</button></form>`;

/** Returns the version in the package of an entry, such as `@org/name@1.2.3` or `uvx:name==1.2.3`. */
const versionOf = (spec: string): string => /(?:.@|==)([^@=]+)$/.exec(spec)?.[1] ?? spec;

const signs = { added: 'good', changed: 'warn', removed: 'bad' } as const;

function planPart(plan: Plan, version: string | undefined): Html {
  const definitions = objectsIn(plan['definitions']);
  const { name, from, to, digest } = plan;
  return html`<p class="lead"><code>${from}</code> → <code>${to}</code> was installed beside the running version and started once: it works.</p>
<section aria-labelledby="tools"><h2 id="tools">Tools and prompts</h2>
${plan['is_known'] === false && html`<p class="note">Those of the running version are not pinned, so all are shown.</p>`}
${definitions.length === 0 ? html`<p>They are the same.</p>` : definitions.map(changePart)}
${flagsPart(plan)}</section>
<section aria-labelledby="permissions"><h2 id="permissions">Permissions</h2>${permissionsPart(plan['permissions'])}</section>
<form class="card" method="post" action="${paths.action('upgrade', name)}">
<p>Calls in flight end on the running version, later ones go to the new one. The tools shown here are accepted. You can roll back.</p>
<input type="hidden" name="accept" value="${digest}">${version !== undefined && html`<input type="hidden" name="version" value="${version}">`}
<p class="actions"><button class="primary" id="confirm">Upgrade ${name}</button><a class="button" href="${paths.server(name)}">Keep ${from}</a></p>
</form>`;
}

function changePart({ kind, name, change, diff }: Described): Html {
  const about = `${textOf(kind)} ${visible(textOf(name))}`;
  const tone = change === 'added' || change === 'removed' ? signs[change] : signs.changed;
  const lines = objectsIn(diff).map(({ sign, text }) => {
    const line = `${textOf(sign)} ${visible(textOf(text))}\n`;
    if (sign !== '+' && sign !== '-') return html`${line}`;
    return html`<span class="${sign === '+' ? 'added' : 'removed'}">${line}</span>`;
  });
  return html`<article class="card" aria-label="${about}"><div class="heading"><h3>${about} ${badge(tone, textOf(change))}</h3></div>
${lines.length > 0 && html`<details><summary>Difference</summary><pre class="diff" tabindex="0" role="region" aria-label="Difference of ${about}">${lines}</pre></details>`}</article>`;
}

function flagsPart(plan: Plan): Content {
  const flags = objectsIn(plan['flags']);
  if (flags.length === 0) return undefined;
  return html`<ul class="notice bad">${flags.map(({ kind, name, text }) => html`<li>${textOf(kind)} <code>${visible(textOf(name))}</code> ${visible(textOf(text))}</li>`)}</ul>`;
}

function permissionsPart(permissions: unknown): Html {
  const { after, added, removed } = isObject(permissions) ? permissions : {};
  const [now, more, less] = [namesIn(after), namesIn(added), namesIn(removed)];
  const list = (names: readonly string[]) => names.join(', ');
  return html`<p>${now.length === 0 ? 'None beyond the default sandbox.' : `Beyond the default sandbox: ${list(now)}.`}</p>
${more.length > 0 && html`<p class="notice bad">New: ${list(more)}</p>`}${less.length > 0 && html`<p class="notice good">No longer: ${list(less)}</p>`}`;
}

type Described = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const objectsIn = (value: unknown): readonly Described[] =>
  Array.isArray(value) ? value.filter(isObject) : [];
const namesIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(one => typeof one === 'string') : [];
