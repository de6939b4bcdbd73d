/** Members of an object, in order, with their values as JSON texts. */
export type Members = (readonly [name: string, text: string])[];

/** Encodes a value as JSON. */
export const json = (value: unknown): string => JSON.stringify(value);

/** Encodes an object as JSON. A name that begins with a quote is JSON text already. */
export const objectOf = (members: Members): string =>
  `{${members.map(([name, text]) => `${name.startsWith('"') ? name : json(name)}:${text}`).join(',')}}`;

/** Methods of requests and notifications of clients. Tool calls are the most frequent. */
export const methods = [
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'tools/call',
  'tools/call',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  'tasks/get',
  'tasks/result',
  'tasks/cancel',
  'tasks/list',
  'tasks/update',
  'server/discover',
  'subscriptions/listen',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
  'notifications/tasks/status',
  'notifications/message',
  'sampling/createMessage',
  'unheard/of',
  '',
  '__proto__',
  'constructor',
] as const;

/** Tools of `whisper.mjs`, and one that does not exist. */
export const tools = [
  'echo',
  'echo',
  'slow',
  'log',
  'ask',
  'touch',
  'relist',
  'extra',
  'nobody',
] as const;

/** Resources of `whisper.mjs` and of the hub, and URIs of no resource. */
export const uris = [
  'whisper://one',
  'whisper://of/someone',
  'whisper://',
  'hub://servers',
  '',
  '://',
] as const;

/** Small ids, so that all clients use the same ones. There are more than a client's calls in flight. */
export const plainIds: readonly string[] = [
  ...Array.from({ length: 60 }, (_, number) => String(number)),
  '"a"',
  '"b"',
];

/** Unusual but valid ids, which must come back unchanged. */
export const oddIds = [
  '-1',
  '-0',
  '9007199254740993',
  '-123456789012345678901234567890',
  '""',
  '" "',
  '"1"',
  '"漢字 😀"',
  String.raw`"\u0000\n\t\\\"\/"`,
  String.raw`"\ud800"`,
  '"__proto__"',
  `"${'i'.repeat(3000)}"`,
] as const;

/** Invalid ids. */
export const badIds = [
  'null',
  'true',
  '1.5',
  '1e3',
  '[]',
  '{}',
  '[1]',
  '{"id":1}',
  '-',
  '01',
  '""""',
] as const;

/** Alternative spellings of envelope keys in JSON. */
export const keyForms: Readonly<Record<string, string>> = {
  id: String.raw`"\u0069d"`,
  method: String.raw`"m\u0065thod"`,
  params: String.raw`"par\u0061ms"`,
  jsonrpc: String.raw`"json\u0072pc"`,
};
