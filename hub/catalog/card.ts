import { isObject } from '#core';
import { visible } from '#definitions';

/** A server as shown in the list of the catalog. All texts have a maximum length and no control characters. */
export type CatalogCard = {
  /** Unchanged name in the registry, as requests for the server need it. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly version: string;
  /** Owner of the namespace, such as `example.com` or `someone (GitHub)`. */
  readonly publisher: string;
  readonly kinds: readonly string[];
  readonly status: 'active' | 'deprecated' | 'deleted';
  readonly statusMessage: string;
  readonly updatedAt: string | undefined;
  readonly repository: string | undefined;
  readonly website: string | undefined;
  /** Stars or downloads, if the registry gives them. The official registry does not. */
  readonly popularity: { readonly of: 'stars' | 'downloads'; readonly count: number } | undefined;
};

const official = 'io.modelcontextprotocol.registry/official';
/** Matches names of the registry's API: one slash, and otherwise only characters that need no escaping in URLs. */
const namePattern = /^[a-zA-Z0-9.-]{1,150}\/[a-zA-Z0-9._-]{1,100}$/;
const maxDescription = 300;
const maxTitle = 100;

/** Returns the card of a list item `{"server", "_meta"}`; undefined if name or version are invalid. */
export function cardOf(item: unknown): CatalogCard | undefined {
  const { server, _meta: meta } = isObject(item) ? item : {};
  if (!isObject(server)) return undefined;
  const { name, title, description, version, packages, remotes, repository, websiteUrl } = server;
  if (typeof name !== 'string' || !namePattern.test(name)) return undefined;
  if (typeof version !== 'string' || version === '' || version.length > 255) return undefined;
  const about = isObject(meta) && isObject(meta[official]) ? meta[official] : {};
  const { status, statusMessage, updatedAt, publishedAt } = about;
  return {
    name,
    title: textOf(title, maxTitle),
    description: textOf(description, maxDescription),
    version: textOf(version, 255),
    publisher: publisherOf(name),
    kinds: kindsOf(packages, remotes),
    status: status === 'deprecated' || status === 'deleted' ? status : 'active',
    statusMessage: textOf(statusMessage, maxDescription),
    updatedAt: timeOf(updatedAt ?? publishedAt),
    repository: linkOf(isObject(repository) ? repository['url'] : undefined),
    website: linkOf(websiteUrl),
    popularity: popularityIn(meta, 0),
  };
}

/** Returns a text of a publisher on one line, with codes in place of invisible characters. */
function textOf(value: unknown, most: number): string {
  if (typeof value !== 'string') return '';
  const line = value
    .slice(0, most * 2)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return visible(line.length > most ? `${line.slice(0, most - 1)}…` : line);
}

function publisherOf(name: string): string {
  const namespace = name.slice(0, name.indexOf('/'));
  const [first, second, ...rest] = namespace.split('.');
  if (first === 'io' && second === 'github' && rest.length > 0) return `${rest.join('.')} (GitHub)`;
  return namespace.split('.').toReversed().join('.');
}

const known = ['npm', 'pypi', 'oci', 'nuget', 'mcpb', 'cargo'];

function kindsOf(packages: unknown, remotes: unknown): readonly string[] {
  const types = Array.isArray(packages)
    ? packages.map(one => (isObject(one) ? one['registryType'] : undefined))
    : [];
  const kinds = known.filter(kind => types.includes(kind));
  return Array.isArray(remotes) && remotes.length > 0 ? [...kinds, 'remote'] : kinds;
}

function timeOf(value: unknown): string | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isFinite(time) ? new Date(time).toISOString() : undefined;
}

/** Returns a URL if a page may link to it: only http and https. */
function linkOf(value: unknown): string | undefined {
  const url = typeof value === 'string' && value.length <= 500 ? URL.parse(value) : null;
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : undefined;
}

const popular = [
  ['stars', /^(?:stars?|stargazers?_?count)$/i],
  ['downloads', /^(?:(?:weekly|monthly|total)?_?downloads?(?:_?count)?)$/i],
] as const;
const maxDepth = 3;

/** Returns the stars or downloads in `_meta`, where registries other than the official one put them. */
function popularityIn(meta: unknown, depth: number): CatalogCard['popularity'] {
  if (!isObject(meta) || depth > maxDepth) return undefined;
  for (const [of, pattern] of popular)
    for (const [key, value] of Object.entries(meta))
      if (
        pattern.test(key) &&
        typeof value === 'number' &&
        Number.isSafeInteger(value) &&
        value >= 0
      )
        return { of, count: value };
  for (const value of Object.values(meta)) {
    const found = popularityIn(value, depth + 1);
    if (found) return found;
  }
  return undefined;
}
