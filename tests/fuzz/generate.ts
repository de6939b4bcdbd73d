import { logLevels, metaKeys, modernVersion } from '#rpc';
import { createRandom, mutate, randomJson, under } from '../rpc/random-json.ts';

/** What a client sends, as it sends it. */
export type Made = {
  readonly bytes: Buffer;
  /** An untouched call of `echo`: what its answer must hold. Undefined for everything else. */
  readonly echoes: string | undefined;
};

/** One client, as far as its messages are concerned. */
export type Speaker = {
  /** Stands in what it sends, and in nothing that others send. */
  readonly secret: string;
  /** What stands before the names of tools and prompts. */
  readonly prefix: string;
  readonly era: 'legacy' | 'modern';
};

/** Makes the messages of clients from a seed: the same ones for the same seed and the same questions. */
export interface Generator {
  /** A message that is anything from right to garbage. */
  message(speaker: Speaker): Made;
  /** What a client answers to a request of a server, given its id as JSON text. Undefined: nothing. */
  reply(speaker: Speaker, id: string): Buffer | undefined;
  /** Goes on with a request that asked for input; `params` and `state` as JSON texts. */
  retry(speaker: Speaker, method: string, params: string, state: string): Buffer;
  readonly random: () => number;
}

/** The members of an object, in order, with their values as JSON text. */
type Members = (readonly [name: string, text: string])[];

const json = (value: unknown) => JSON.stringify(value);
const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const objectOf = (members: Members) =>
  `{${members.map(([name, text]) => `${name.startsWith('"') ? name : json(name)}:${text}`).join(',')}}`;

const methods = [
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

const tools = ['echo', 'echo', 'slow', 'log', 'ask', 'touch', 'relist', 'extra', 'nobody'];
const uris = ['whisper://one', 'whisper://of/someone', 'whisper://', 'hub://servers', '', '://'];

/** Small ones, so that all clients use the same. */
const plainIds = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '"a"', '"b"'];
const oddIds = [
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
];
const badIds = ['null', 'true', '1.5', '1e3', '[]', '{}', '[1]', '{"id":1}', '-', '01', '""""'];
const keyForms: Readonly<Record<string, string>> = {
  id: String.raw`"\u0069d"`,
  method: String.raw`"m\u0065thod"`,
  params: String.raw`"par\u0061ms"`,
  jsonrpc: String.raw`"json\u0072pc"`,
};

export function createGenerator(seed: number): Generator {
  const random = createRandom(seed);
  const chance = (of: number) => random() < of;
  function pick<T>(from: readonly [T, ...T[]] | readonly T[]): T {
    const one = from[under(random, from.length)];
    if (one === undefined) throw new TypeError('nothing to pick from');
    return one;
  }

  const odd = (): string => {
    switch (under(random, 6)) {
      case 0:
        return pick(['null', 'true', '0', '-1', '1.5', '""', '[]', '{}', '[{}]', '{"":{}}']);
      case 1:
        return pick(oddIds);
      case 2:
        return `"${pick(['x', String.raw`\u0000`, String.raw`\ud800`, '漢', '\u2028']).repeat(
          under(random, 3000),
        )}"`;
      case 3:
        return deep(1 + under(random, chance(0.05) ? 700 : 60));
      default:
        return randomJson(random, 3);
    }
  };

  const idText = () => (chance(0.75) ? pick(plainIds) : pick(oddIds));

  /** The `_meta` of a request of the stateless revision, which is not always whole. */
  function modernMeta(): string {
    const members: Members = [];
    const add = (name: string, right: string) => {
      if (chance(0.95)) members.push([name, chance(0.95) ? right : odd()]);
    };
    add(metaKeys.protocolVersion, json(modernVersion));
    const sampling = { sampling: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
    add(metaKeys.clientCapabilities, json(chance(0.5) ? sampling : {}));
    if (chance(0.5)) add(metaKeys.clientInfo, '{"name":"fuzz","version":"1"}');
    if (chance(0.3)) add(metaKeys.logLevel, json(pick(logLevels)));
    if (chance(0.3)) members.push(['progressToken', idText()]);
    return objectOf(members);
  }

  function argumentsOf(tool: string, { secret }: Speaker): Members {
    const own: Members = [['secret', json(secret)]];
    if (tool === 'slow') own.push(['ms', String(under(random, 15))]);
    if (tool === 'touch') own.push(['uri', json(pick(uris))]);
    if (chance(0.05)) own.push([pick(['a', 'secret', '__proto__']), odd()]);
    return own;
  }

  function paramsOf(method: string, speaker: Speaker): Members {
    const named = (name: string) => json(chance(0.97) ? speaker.prefix + name : name);
    switch (method) {
      case 'initialize':
        return [
          [
            'protocolVersion',
            json(pick(['2025-11-25', '2025-03-26', '2024-11-05', modernVersion, ''])),
          ],
          ['capabilities', chance(0.5) ? '{"sampling":{},"roots":{}}' : odd()],
          ['clientInfo', chance(0.8) ? '{"name":"fuzz","version":"1"}' : odd()],
        ];
      case 'tools/call': {
        const tool = pick(tools);
        const params: Members = [
          ['name', named(tool)],
          ['arguments', objectOf(argumentsOf(tool, speaker))],
        ];
        if (chance(0.04)) params.push(['task', chance(0.7) ? '{"ttl":1000}' : odd()]);
        if (chance(0.03)) params.push(['requestState', chance(0.5) ? '"a.1.1.b"' : odd()]);
        if (chance(0.03)) params.push(['inputResponses', odd()]);
        return params;
      }
      case 'prompts/get':
        return [
          ['name', named('greet')],
          ['arguments', objectOf(argumentsOf('', speaker))],
        ];
      case 'resources/read':
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return [['uri', json(pick(uris))]];
      case 'completion/complete':
        return [
          [
            'ref',
            pick([
              '{"type":"ref/prompt","name":"greet"}',
              '{"type":"ref/resource","uri":"whisper://of/{name}"}',
              '{}',
            ]),
          ],
          ['argument', '{"name":"name","value":""}'],
        ];
      case 'logging/setLevel':
        return [['level', json(pick(logLevels))]];
      case 'tasks/get':
      case 'tasks/result':
      case 'tasks/cancel':
      case 'tasks/update':
      case 'notifications/tasks/status':
        return [['taskId', chance(0.8) ? json(`task-${under(random, 40)}`) : odd()]];
      case 'subscriptions/listen':
        return [
          [
            'notifications',
            chance(0.8)
              ? json({
                  toolsListChanged: chance(0.5),
                  resourceSubscriptions: chance(0.5) ? [pick(uris), pick(uris)] : [],
                  ...(chance(0.3) && { taskIds: ['task-1'] }),
                })
              : objectOf([
                  ['toolsListChanged', odd()],
                  ['resourceSubscriptions', odd()],
                  ['taskIds', odd()],
                ]),
          ],
        ];
      case 'notifications/cancelled':
        return [
          ['requestId', chance(0.8) ? idText() : odd()],
          ['reason', chance(0.5) ? '"enough"' : odd()],
        ];
      case 'notifications/progress':
        return [
          ['progressToken', chance(0.5) ? String(under(random, 200)) : odd()],
          ['progress', chance(0.8) ? '1' : odd()],
        ];
      default:
        return [[pick(['a', 'cursor', 'name', 'uri']), odd()]];
    }
  }

  function envelope(speaker: Speaker): { members: Members; echoes: string | undefined } {
    if (chance(0.06)) return { members: strayAnswer(), echoes: undefined };
    const method = pick(methods);
    const params = paramsOf(method, speaker);
    const isModern = speaker.era === 'modern' ? chance(0.95) : chance(0.03);
    if (isModern) params.push(['_meta', modernMeta()]);
    else if (chance(0.4)) params.push(['_meta', objectOf([['progressToken', idText()]])]);
    const members: Members = [['jsonrpc', '"2.0"']];
    if (!method.startsWith('notifications/') || chance(0.05)) members.push(['id', idText()]);
    members.push(['method', json(method)]);
    if (method !== 'ping' || chance(0.5)) members.push(['params', objectOf(params)]);
    return { members, echoes: undefined };
  }

  /** An answer to what nobody asked. */
  function strayAnswer(): Members {
    const payload: readonly [string, string] = chance(0.5)
      ? ['result', odd()]
      : ['error', chance(0.5) ? '{"code":-1,"message":"no"}' : odd()];
    const id = chance(0.5) ? String(under(random, 5000)) : idText();
    return [['jsonrpc', '"2.0"'], ['id', id], payload];
  }

  /** One change of what stands in the envelope or in the params. */
  function change(members: Members): Members {
    const at = under(random, members.length);
    const [name, text] = members[at] ?? ['x', 'null'];
    switch (under(random, 8)) {
      case 0:
        return members.toSpliced(at, 1);
      case 1:
        return [...members, [name, chance(0.5) ? text : odd()]];
      case 2:
      case 3:
        return members.with(at, [name, odd()]);
      case 4:
        return [...members.toSpliced(at, 1), [name, text]];
      case 5:
        return [
          ...members,
          [pick(['x', '', '__proto__', 'result', 'error', 'id', 'params']), odd()],
        ];
      case 6:
        return members.with(at, [
          Object.hasOwn(keyForms, name) ? (keyForms[name] ?? name) : name,
          text,
        ]);
      default:
        return members.map(member =>
          member[0] === 'id'
            ? (['id', chance(0.5) ? pick(badIds) : pick(oddIds)] as const)
            : member,
        );
    }
  }

  /** White space where JSON allows it. */
  const spaced = (text: string) =>
    pick([' ', '\n', '\t', '\r\n']) + text.replaceAll('":', `" : ${pick([' ', '\n', ''])}`);

  function pristine(speaker: Speaker): Made {
    const mark = `${speaker.secret}-${under(random, 1e9)}`;
    const params: Members = [
      ['name', json(`${speaker.prefix}echo`)],
      ['arguments', objectOf([['secret', json(mark)]])],
    ];
    if (speaker.era === 'modern')
      params.push([
        '_meta',
        json({ [metaKeys.protocolVersion]: modernVersion, [metaKeys.clientCapabilities]: {} }),
      ]);
    // Of its own, so that no other message can cancel it.
    const id = json(`pristine ${mark}`);
    const message = objectOf([
      ['jsonrpc', '"2.0"'],
      ['id', id],
      ['method', '"tools/call"'],
      ['params', objectOf(params)],
    ]);
    return { bytes: Buffer.from(message), echoes: `echo ${mark}` };
  }

  function whole(speaker: Speaker): string {
    let { members } = envelope(speaker);
    if (chance(0.4)) members = change(members);
    if (chance(0.1)) members = change(members);
    const text = objectOf(members);
    return chance(0.05) ? spaced(text) : text;
  }

  function batch(speaker: Speaker): string {
    const count = pick([0, 1, 2, 3, 8]);
    const messages = Array.from({ length: count }, () =>
      chance(0.9) ? whole(speaker) : pick(['5', 'null', '[]', '{}', `[${whole(speaker)}]`]),
    );
    return `[${messages.join(',')}]`;
  }

  return {
    random,
    message(speaker) {
      if (chance(0.1)) return pristine(speaker);
      const bytes = Buffer.from(chance(0.05) ? batch(speaker) : whole(speaker));
      if (!chance(0.2)) return { bytes, echoes: undefined };
      let mutated = mutate(random, bytes);
      if (chance(0.3)) mutated = mutate(random, mutated);
      return { bytes: mutated, echoes: undefined };
    },
    reply(speaker, id) {
      if (chance(0.3)) return undefined;
      const members: Members = [
        ['jsonrpc', '"2.0"'],
        ['id', id],
        [
          'result',
          json({ role: 'assistant', model: 'm', content: { type: 'text', text: speaker.secret } }),
        ],
      ];
      if (chance(0.15)) members[2] = ['error', chance(0.5) ? '{"code":-1,"message":"no"}' : odd()];
      return Buffer.from(objectOf(chance(0.15) ? change(members) : members));
    },
    retry(speaker, method, params, state) {
      const given = chance(0.15) ? odd() : state;
      const responses = chance(0.85)
        ? `{"1":{"role":"assistant","model":"m","content":{"type":"text","text":${json(speaker.secret)}}}}`
        : odd();
      const more = `${params.slice(0, -1)},"requestState":${given},"inputResponses":${responses}}`;
      return Buffer.from(
        `{"jsonrpc":"2.0","id":${idText()},"method":${json(method)},"params":${more}}`,
      );
    },
  };
}
