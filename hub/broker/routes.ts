import { refusal, show } from './refusal.ts';
import { type QueryRules, type RequestTarget, flag } from './target.ts';

/** Objects whose owner is checked before a call is admitted. */
type OwnedKind = 'container' | 'network' | 'volume';

/** What the broker does with an admitted call, besides forwarding it. */
type Handling =
  | {
      readonly kind:
        | 'none'
        /** Requires that the call names, by its tag, an image that a hub built. */
        | 'built_image'
        /** Lists only the images that hubs built. */
        | 'built_images'
        /** As `own`; also checks the container's mounts again. */
        | 'start_container'
        /** The broker answers the call itself, with the volumes of this hub only. */
        | 'own_volumes'
        /** The broker answers the call itself, with the limits that the engine keeps. */
        | 'limits'
        | 'create_container'
        | 'create_network'
        /** The forwarder's container joins or leaves a network of this hub. */
        | 'connect_network'
        | 'disconnect_network'
        /** Pulls an image from an allowed registry. */
        | 'pull'
        | 'build';
    }
  /** The named object must have this hub's label. The engine gets its id, never the name. */
  | { readonly kind: 'own'; readonly object: OwnedKind }
  /** Lists and events contain only objects with this hub's label. */
  | { readonly kind: 'filter'; readonly others: readonly string[] };

type Method = 'GET' | 'POST' | 'DELETE';

const container = '/containers/([a-zA-Z0-9][a-zA-Z0-9_.-]{0,254})';
const network = '/networks/([a-zA-Z0-9][a-zA-Z0-9_.-]{0,254})';
const volume = '/volumes/([a-zA-Z0-9][a-zA-Z0-9_.-]{0,254})';
// A reference is a path, a tag and a digest. parseTarget has already refused ambiguous characters.
const image = '/images/[a-zA-Z0-9][a-zA-Z0-9_.:@/-]{0,511}';
// Repositories that only images of packages and the hub's own images use.
const builtRepository =
  'agenthub/(?:(?:npm|python)-[a-z0-9][a-z0-9._-]{0,200}|egress|agent|git|ollama-mcp)';
// An image is named by its tag, never by its id.
const builtImage = `/images/(${builtRepository}:[a-zA-Z0-9_][\\w.-]{0,127})`;
const own = (object: OwnedKind): Handling => ({ kind: 'own', object });
const number = /^\d{1,6}$/;
const time = /^\d{1,19}(\.\d{1,9})?$/;

/** Every call that the hub makes to an engine. All other calls are refused. */
const rows: readonly (readonly [Method, path: string, Handling, QueryRules?])[] = [
  ['GET', '/_ping', { kind: 'none' }],
  ['GET', '/version', { kind: 'none' }],
  ['GET', '/info', { kind: 'limits' }],
  ['GET', '/events', { kind: 'filter', others: ['type', 'event'] }, { since: time, until: time }],
  ['GET', '/containers/json', { kind: 'filter', others: [] }, { all: flag }],
  ['GET', '/networks', { kind: 'filter', others: [] }],
  ['GET', '/images/json', { kind: 'built_images' }, { filters: /^/ }],
  ['GET', `${image}/json`, { kind: 'none' }],
  [
    // Pulls without credentials an image that a config names or that the hub builds on.
    'POST',
    '/images/create',
    { kind: 'pull' },
    {
      fromImage: /^[a-zA-Z0-9][a-zA-Z0-9._:/-]{0,254}$/,
      tag: /^[a-zA-Z0-9_][a-zA-Z0-9_.:-]{0,127}$/,
    },
  ],
  ['DELETE', builtImage, { kind: 'built_image' }],
  [
    // Admits only the tag of a hub that uses the image. Other tags decide which code runs.
    'POST',
    `${builtImage}/tag`,
    { kind: 'built_image' },
    {
      repo: new RegExp(`^${builtRepository}$`),
      tag: /^[a-zA-Z0-9_][\w.-]{0,112}\.h-[0-9a-f]{12}$/,
    },
  ],
  ['POST', '/build', { kind: 'build' }],
  ['POST', '/containers/create', { kind: 'create_container' }],
  ['GET', `${container}/json`, own('container')],
  [
    'POST',
    `${container}/attach`,
    own('container'),
    { stream: flag, stdin: flag, stdout: flag, stderr: flag, logs: flag },
  ],
  ['POST', `${container}/start`, { kind: 'start_container' }],
  ['POST', `${container}/stop`, own('container'), { t: number }],
  [
    'POST',
    `${container}/wait`,
    own('container'),
    { condition: /^(?:not-running|next-exit|removed)$/ },
  ],
  ['GET', `${container}/stats`, own('container'), { stream: flag, 'one-shot': flag }],
  ['DELETE', container, own('container'), { force: flag, v: flag }],
  ['POST', '/networks/create', { kind: 'create_network' }],
  ['POST', `${network}/connect`, { kind: 'connect_network' }],
  ['POST', `${network}/disconnect`, { kind: 'disconnect_network' }],
  ['GET', network, own('network')],
  ['DELETE', network, own('network')],
  ['GET', '/system/df', { kind: 'own_volumes' }, { type: /^volume$/ }],
  ['GET', volume, own('volume')],
  ['DELETE', volume, own('volume')],
];

const routes = rows.map(([method, path, handling, query = {}]) => ({
  method,
  path: new RegExp(`^${path}$`),
  handling,
  query,
  /** True if the connection becomes a raw stream in both directions. */
  hijack: path.endsWith('/attach'),
}));

/** Finds the route of a call. `path` contains `{id}` in place of the object's name. Throws HUB_BROKER_REFUSED. */
export function findRoute(method: string, target: RequestTarget) {
  for (const route of routes) {
    const match = route.method === method ? route.path.exec(target.path) : null;
    if (match === null) continue;
    const name = match[1] ?? '';
    const path = name === '' ? target.path : target.path.replace(/^(\/\w+\/)[^/]+/, '$1{id}');
    return { ...route, path, name };
  }
  throw refusal(`${show(method)} ${show(target.path)}`);
}
