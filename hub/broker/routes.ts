import { type Query, anyOf, flag, pattern } from './query.ts';
import { refusal } from './refusal.ts';
import { type Target, show } from './target.ts';

/** What is found by its name, and looked at before a call about it is admitted. */
export type Owned = 'container' | 'network' | 'volume';

/** What the broker does with a call that it admits, besides passing it on. */
export type Duty =
  | { readonly duty: 'none' }
  /** The named object must carry this hub's label; the engine is told its id, never the name. */
  | { readonly duty: 'own'; readonly object: Owned; readonly name: string }
  /** An image that a hub has built, removed by the tag that it was given. */
  | { readonly duty: 'built_image'; readonly reference: string }
  /** As `own`; what the container mounts is looked at again. */
  | { readonly duty: 'start_container'; readonly name: string }
  /** Only what carries this hub's label is listed or told. */
  | { readonly duty: 'filter'; readonly others: readonly string[] }
  /** The broker asks itself, and answers with the volumes of this hub only. */
  | { readonly duty: 'own_volumes' }
  | { readonly duty: 'create_container' }
  | { readonly duty: 'create_network' }
  /** An image, from a registry that is on the list. */
  | { readonly duty: 'pull' }
  | { readonly duty: 'build' };

export type Route = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path for the engine; `{id}` is filled in once the broker has found the object. */
  readonly path: string;
  readonly query: Query;
  readonly duty: Duty;
  /** The call becomes a raw stream in both directions. */
  readonly hijack: boolean;
};

type Row = {
  readonly method: Route['method'];
  readonly path: RegExp;
  readonly query?: Query;
  readonly duty?: (name: string) => Duty;
  readonly hijack?: true;
};

const objectName = '([a-zA-Z0-9][a-zA-Z0-9_.-]{0,254})';
// A reference is a path of names, a tag and a digest; the strict target has refused anything odd in it.
const imageName = '[a-zA-Z0-9][a-zA-Z0-9_.:@/-]{0,511}';
// A tag that no name but those of packages begins with, and never an id.
const builtImage =
  '(agenthub/(?:npm|python)-[a-z0-9][a-z0-9._-]{0,200}:[a-zA-Z0-9_][\\w.-]{0,127})';
const own =
  (object: Owned) =>
  (name: string): Duty => ({ duty: 'own', object, name });
const number = pattern(/^\d{1,6}$/);

/** Every call that the hub makes of an engine. What is not here does not exist. */
const rows: readonly Row[] = [
  { method: 'GET', path: at('/_ping') },
  { method: 'GET', path: at('/version') },
  {
    method: 'GET',
    path: at('/events'),
    query: { since: pattern(/^\d{1,19}(\.\d{1,9})?$/), until: pattern(/^\d{1,19}(\.\d{1,9})?$/) },
    duty: () => ({ duty: 'filter', others: ['type', 'event'] }),
  },
  {
    method: 'GET',
    path: at('/containers/json'),
    query: { all: flag },
    duty: () => ({ duty: 'filter', others: [] }),
  },
  { method: 'GET', path: at('/networks'), duty: () => ({ duty: 'filter', others: [] }) },
  { method: 'GET', path: at(`/images/${imageName}/json`) },
  {
    // A pull without credentials: the images that an entry names, and those that ours are built from.
    method: 'POST',
    path: at('/images/create'),
    query: {
      fromImage: pattern(/^[a-zA-Z0-9][a-zA-Z0-9._:/-]{0,254}$/),
      tag: pattern(/^[a-zA-Z0-9_][a-zA-Z0-9_.:-]{0,127}$/),
    },
    duty: () => ({ duty: 'pull' }),
  },
  {
    method: 'DELETE',
    path: at(`/images/${builtImage}`),
    duty: reference => ({ duty: 'built_image', reference }),
  },
  {
    // The tag by which a hub notes that it uses an image, and no other: that of a package decides what runs.
    method: 'POST',
    path: at(`/images/${builtImage}/tag`),
    query: {
      repo: pattern(/^agenthub\/(?:npm|python)-[a-z0-9][a-z0-9._-]{0,200}$/),
      tag: pattern(/^[a-zA-Z0-9_][\w.-]{0,112}\.h-[0-9a-f]{12}$/),
    },
    duty: reference => ({ duty: 'built_image', reference }),
  },
  { method: 'POST', path: at('/build'), duty: () => ({ duty: 'build' }) },
  { method: 'POST', path: at('/containers/create'), duty: () => ({ duty: 'create_container' }) },
  { method: 'GET', path: at(`/containers/${objectName}/json`), duty: own('container') },
  {
    method: 'POST',
    path: at(`/containers/${objectName}/attach`),
    query: { stream: flag, stdin: flag, stdout: flag, stderr: flag, logs: flag },
    duty: own('container'),
    hijack: true,
  },
  {
    method: 'POST',
    path: at(`/containers/${objectName}/start`),
    duty: name => ({ duty: 'start_container', name }),
  },
  {
    method: 'POST',
    path: at(`/containers/${objectName}/stop`),
    query: { t: number },
    duty: own('container'),
  },
  {
    method: 'POST',
    path: at(`/containers/${objectName}/wait`),
    query: { condition: anyOf('not-running', 'next-exit', 'removed') },
    duty: own('container'),
  },
  {
    method: 'GET',
    path: at(`/containers/${objectName}/stats`),
    query: { stream: flag, 'one-shot': flag },
    duty: own('container'),
  },
  {
    method: 'DELETE',
    path: at(`/containers/${objectName}`),
    query: { force: flag, v: flag },
    duty: own('container'),
  },
  { method: 'POST', path: at('/networks/create'), duty: () => ({ duty: 'create_network' }) },
  { method: 'GET', path: at(`/networks/${objectName}`), duty: own('network') },
  { method: 'DELETE', path: at(`/networks/${objectName}`), duty: own('network') },
  {
    method: 'GET',
    path: at('/system/df'),
    query: { type: anyOf('volume') },
    duty: () => ({ duty: 'own_volumes' }),
  },
  { method: 'GET', path: at(`/volumes/${objectName}`), duty: own('volume') },
  { method: 'DELETE', path: at(`/volumes/${objectName}`), duty: own('volume') },
];

/** The row that admits this call. Throws where there is none. */
export function findRoute(method: string, target: Target): Route {
  for (const row of rows) {
    const match = row.method === method ? row.path.exec(target.path) : null;
    if (match === null) continue;
    const name = match[1] ?? '';
    return {
      method: row.method,
      path: name === '' ? target.path : target.path.replace(/^(\/\w+\/)[^/]+/, '$1{id}'),
      query: row.query ?? {},
      duty: row.duty?.(name) ?? { duty: 'none' },
      hijack: row.hijack ?? false,
    };
  }
  throw refusal(`${show(method)} ${show(target.path)}`);
}

function at(path: string): RegExp {
  return new RegExp(`^${path}$`);
}
