import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type Content, type Html, html } from './html.ts';
import { paths } from './paths.ts';
import { type Rights, loginLink } from './pieces.ts';

export type Visitor = {
  readonly rights: Rights;
  /** True if the visitor has a login cookie that can be removed. */
  readonly isLoggedIn: boolean;
};

export type Page = {
  readonly title: string;
  readonly at?: NavigationEntry;
  readonly main: Html;
  /** URL of the event stream that reports changes; undefined for a static page. */
  readonly events?: string;
  /** Interval of reloads in browsers without JavaScript, in seconds. */
  readonly reloadSeconds?: number;
  /** Redirects to this path with a new request, which carries the cookies that this response sets. */
  readonly leadsTo?: string;
  /** Notice about the action that led to this page. */
  readonly notice?: Html | undefined;
};

/** Groups of pages, in the order of the navigation. */
const places = [
  [
    ['overview', 'Overview', paths.overview],
    ['activity', 'Activity', paths.activity],
    ['catalog', 'Catalog', paths.catalog],
    ['install', 'Install', paths.install],
  ],
  [
    ['connect', 'Connect', paths.connect],
    ['sessions', 'Sessions', paths.sessions],
    ['access', 'Access', paths.access],
  ],
  [
    ['approvals', 'Approvals', paths.approvals],
    ['pins', 'Pins', paths.pins],
    ['audit', 'Audit', paths.audit],
  ],
  [
    ['agents', 'Agents', paths.agents],
    ['tasks', 'Tasks', paths.tasks],
    ['jobs', 'Jobs', paths.jobs],
    ['caches', 'Caches', paths.caches],
  ],
] as const;
type NavigationEntry = (typeof places)[number][number][0];
/** Badges with numbers of waiting decisions, beside links of the navigation. */
type NavigationBadges = { readonly [entry in NavigationEntry]?: Content };

/**
 * Settings of htmx: no evaluation of code, no inline styles, and no inheritance, as forms contain all their settings.
 */
const htmxConfig = JSON.stringify({
  disableInheritance: true,
  includeIndicatorStyles: false,
  allowEval: false,
  historyCacheSize: 0,
  refreshOnHistoryMiss: true,
  responseHandling: [
    { code: '204', swap: false },
    { code: '[23]..', swap: true },
    { code: '...', swap: true, error: true },
  ],
});

export function layout(
  page: Page,
  { rights, isLoggedIn }: Visitor,
  { version, badges }: { readonly version: string; readonly badges: NavigationBadges },
  assets: Awaited<ReturnType<typeof loadAssets>>['urls'],
): Html {
  const { reloadSeconds, leadsTo } = page;
  const refresh = [
    reloadSeconds !== undefined &&
      html`<noscript><meta http-equiv="refresh" content="${reloadSeconds}"></noscript>\n`,
    leadsTo !== undefined &&
      html`<meta http-equiv="refresh" content="${'0;url='.concat(leadsTo)}">\n`,
  ];
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="htmx-config" content="${htmxConfig}">
${refresh}<title>${page.title} · AgentHub</title>
<link rel="icon" type="image/svg+xml" href="${assets['icon.svg']}">
<link rel="stylesheet" href="${assets['dashboard.css']}">
<script src="${assets['htmx.js']}" defer></script>
<script src="${assets['dashboard.js']}" defer></script>
</head>
<body data-events="${page.events}">
<a class="skip" href="#main">Skip to the content</a>
<p id="gone" class="gone" role="alert"></p>
<header class="top">
<a class="brand" href="${paths.overview}">${mark}<span>AgentHub</span></a>
${navigation(page.at, badges)}
<p id="live" class="live" role="status"></p>
${loginLink(rights, 'Log in', 'log-in')}
${isLoggedIn && html`<form method="post" action="${paths.logout}"><button class="quiet">Log out</button></form>`}
</header>
<main id="main" tabindex="-1">
<div id="notice" role="status">${page.notice}</div>
<p id="copied" class="unseen" role="status"></p>
${page.main}
</main>
<footer>AgentHub ${version}</footer>
</body>
</html>
`;
}

const mark = html`<svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><g fill="none" stroke="currentColor" stroke-width="2"><path d="M12 12 4.8 6.6M12 12l7.2-5.4M12 12v8"/></g><g fill="currentColor"><circle cx="12" cy="12" r="4"/><circle cx="4.5" cy="6" r="2.5"/><circle cx="19.5" cy="6" r="2.5"/><circle cx="12" cy="20.5" r="2.5"/></g></svg>`;

function navigation(at: NavigationEntry | undefined, badges: NavigationBadges): Html {
  const links = places.flatMap(group =>
    group.map(
      ([place, text, path], index) =>
        html`<li${index === 0 && html` class="first"`}><a href="${path}"${place === at && html` aria-current="page"`}>${text}${badges[place]}</a></li>`,
    ),
  );
  return html`<nav aria-label="Pages"><ul>${links}</ul></nav>`;
}

const script = 'text/javascript; charset=utf-8';
const hashLength = 12;

/**
 * Reads the files that pages load. Their URLs contain a hash of the content, so that browsers can cache them forever.
 * Rejects if a file is missing, as in an incomplete package.
 */
export async function loadAssets() {
  const htmx = createRequire(import.meta.url).resolve('htmx.org/dist/htmx.min.js');
  const files = new Map<string, { readonly type: string; readonly body: Buffer }>();
  const add = async (name: string, type: string, from?: string) => {
    const body = await readFile(from ?? new URL(`./assets/${name}`, import.meta.url));
    const hash = createHash('sha256').update(body).digest('hex').slice(0, hashLength);
    const file = name.replace(/(?=\.\w+$)/, `.${hash}`);
    files.set(file, { type, body });
    return `/dashboard/assets/${file}`;
  };
  return {
    urls: {
      'dashboard.css': await add('dashboard.css', 'text/css; charset=utf-8'),
      'dashboard.js': await add('dashboard.js', script),
      'htmx.js': await add('htmx.js', script, htmx),
      'icon.svg': await add('icon.svg', 'image/svg+xml'),
    },
    find: (file: string) => files.get(file),
  };
}
