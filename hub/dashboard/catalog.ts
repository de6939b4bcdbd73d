import type { CatalogCard, CatalogSource, ServerCatalog } from '#catalog';
import { HubError } from '#core';
import { fileOnly } from './actions.ts';
import { catalogBodyOf, optionForm } from './catalog-form.ts';
import type { AskedSetting } from './confirmation.ts';
import type { DashboardAnswer, DashboardRequest, Handlers, PageNeeds } from './dashboard-types.ts';
import { type Html, html } from './html.ts';
import { paths, withQuery } from './paths.ts';
import { badge, empty, failed, heading, notice } from './pieces.ts';

const noCatalog = failed(
  409,
  'No catalog',
  'This hub asks no registry of MCP servers: "catalog.enabled" is false in its config.',
);

/**
 * Creates the pages of the catalog of MCP servers: its list, a server of it, and the form that installs that server.
 */
export function catalogPages({ hub, installs, system, telemetry: { redact } }: PageNeeds) {
  const { catalog } = hub;
  const frame = { at: 'catalog' } as const;
  const agoOf = ({ at }: CatalogSource) =>
    Math.max(0, Math.round((system.clock.now() - at) / 60_000));

  function withCatalog(
    show: (catalog: ServerCatalog, request: DashboardRequest) => Promise<DashboardAnswer>,
  ) {
    return async (request: DashboardRequest) =>
      catalog?.isOn() === true ? await show(catalog, request) : noCatalog;
  }

  /** Returns the page of a server, with the values of a submitted form and its problems. */
  async function serverPage(
    open: ServerCatalog,
    { query, form, signal }: DashboardRequest,
    sentBack: SentBack = {},
  ): Promise<DashboardAnswer> {
    const name = form.get('server') ?? query('name');
    const version = form.get('version') ?? query('version');
    const { card, options, source } = await open.get(name, version || undefined, signal);
    const { problem, asked = [], sent } = sentBack;
    const chosen = Number(form.get('option') ?? NaN);
    const main = html`<p class="crumbs"><a href="${paths.catalog}">Catalog</a></p>
${heading(card.title || card.name, kindsOf(card))}
<p class="lead">${card.description}</p>
<p class="note">${card.name} ${card.version} by ${card.publisher}. Anyone can publish in the registry: nobody has checked this server.${links(card)}</p>
${stateOf(card)}${sourceNotice(source, agoOf(source))}
${problem !== undefined && html`<p class="notice bad" role="alert" id="problem">${problem}</p>`}
${options.length === 0 && empty('It names neither a package nor an address.')}
${options.map((option, number) =>
  optionForm(option, {
    number,
    card,
    isInstallable: installs !== undefined,
    sent: number === chosen ? sent : undefined,
    asked: number === chosen ? asked : [],
  }),
)}`;
    return { page: { ...frame, title: card.title || card.name, main } };
  }

  return {
    catalog: withCatalog(async (open, { url, query, signal }) => {
      const words = query('q');
      const main = html`${heading('Catalog')}
<p class="lead">Servers of the official MCP registry. The hub asks it when you search.</p>
${searchForm(words)}
${url.includes('?') && (await results(open, words, query('cursor') || undefined, signal))}`;
      return { page: { ...frame, title: 'Catalog', main } };
    }),
    catalogServer: withCatalog(serverPage),
    installFromCatalog: withCatalog(async (open, request) => {
      if (!installs) return fileOnly;
      let sent: URLSearchParams | undefined = request.form;
      using held = new DisposableStack();
      try {
        const found = held.use(await open.requestFor(catalogBodyOf(request.form), request.signal));
        sent = withReferences(request.form, found.body);
        const asked = await installs.review(found.request);
        const names = asked.map(one => one.name);
        if (names.every(name => found.request.confirm.includes(name))) {
          const wanted = { ...found.request, confirm: names };
          const job = installs.begin(wanted, request.principal().name);
          // Reserve the names of the server's secrets until the install has ended.
          const reserved = held.move();
          void job.over.then(() => reserved.dispose());
          return { redirect: paths.job(job.id) };
        }
        const shown = asked.map(({ name, message }) => ({
          name,
          message: redact(message),
          isAgreed: found.request.confirm.includes(name),
        }));
        return { ...(await serverPage(open, request, { asked: shown, sent })), status: 409 };
      } catch (error) {
        if (!(error instanceof HubError) || error.code !== 'HUB_REQUEST_INVALID') throw error;
        const problem = redact(error.message);
        return { ...(await serverPage(open, request, { problem, sent })), status: 400 };
      }
    }),
  } satisfies Handlers;

  async function results(
    open: ServerCatalog,
    words: string,
    cursor: string | undefined,
    signal: AbortSignal,
  ): Promise<Html> {
    const { servers, next, source } = await open.search(words, cursor, signal);
    return html`${sourceNotice(source, agoOf(source))}
${servers.length === 0 ? empty('The registry has no such server.') : html`<ul class="parts" id="found">${servers.map(cardItem)}</ul>`}
${next !== undefined && html`<p><a class="button" href="${withQuery(paths.catalog, { q: words, cursor: next })}">More</a></p>`}`;
  }
}

/** Why a form is returned to the visitor. `sent` has its values, with references in place of secrets. */
type SentBack = {
  readonly problem?: string;
  readonly asked?: readonly AskedSetting[];
  readonly sent?: URLSearchParams | undefined;
};

/** Returns the form with references in place of secrets, since no page shows a submitted secret. */
function withReferences(
  form: URLSearchParams,
  body: Readonly<Record<string, unknown>>,
): URLSearchParams {
  const sent = new URLSearchParams(form);
  for (const [part, group] of Object.entries(body)) {
    if (typeof group !== 'object' || group === null) continue;
    for (const [key, value] of Object.entries(group))
      if (sent.has(`field.${part}.${key}`)) sent.set(`field.${part}.${key}`, String(value));
  }
  return sent;
}

const searchForm = (words: string): Html =>
  html`<form class="card" method="get" action="${paths.catalog}" role="search"><p><label for="q">Words in names and descriptions</label><input id="q" name="q" type="search" value="${words}" autocomplete="off" spellcheck="false"></p>
<p><button class="primary" id="search">Search</button> <a href="${paths.install}">Install a package by its name</a></p></form>`;

function cardItem(card: CatalogCard): Html {
  const { name, title, version, publisher, description, popularity } = card;
  const link = withQuery(paths.catalogServer, { name, version });
  return html`<li><div class="heading"><a href="${link}">${title || name}</a>${kindsOf(card)}${card.status !== 'active' && badge('warn', card.status)}</div>
<p>${description}</p>
<p class="note">${title !== '' && html`${name} · `}${version} · ${publisher}${popularity && html` · ${popularity.count} ${popularity.of}`}</p></li>`;
}

const kindsOf = ({ kinds }: CatalogCard): readonly Html[] => kinds.map(kind => badge('idle', kind));

const stateOf = ({ status, statusMessage }: CatalogCard) =>
  status !== 'active' && notice('bad', `It is ${status}. `, statusMessage);

function links({ repository, website }: CatalogCard): readonly Html[] {
  const link = (href: string, text: string) =>
    html` <a href="${href}" rel="noreferrer noopener" target="_blank">${text}</a>`;
  return [
    ...(website === undefined ? [] : [link(website, 'Website')]),
    ...(repository === undefined ? [] : [link(repository, 'Source code')]),
  ];
}

/** Shows the age of an answer that comes from the cache. */
function sourceNotice({ url, problem }: CatalogSource, minutes: number) {
  if (problem === undefined)
    return minutes >= 1 && html`<p class="note">As of ${minutes} min ago.</p>`;
  return notice('bad', `${url} was not reached (${problem}). This is ${minutes} min old.`);
}
