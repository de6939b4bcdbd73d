import { logLevels, metaKeys, modernVersion } from '#mcp';
import type { Dice } from './dice.ts';
import { type Members, json, objectOf, tools, uris } from './vocabulary.ts';

/** Identity of a client, as used in its messages. */
export type Speaker = {
  /** A text that is in the messages of this client only. */
  readonly secret: string;
  /** Prefix of the names of tools and prompts. */
  readonly prefix: string;
  readonly era: 'legacy' | 'modern';
};

/** Generates the params of requests and notifications. */
interface ParamsMaker {
  /** Returns valid or nearly valid params of a method, without `_meta`. */
  of(method: string, speaker: Speaker): Members;
  /** Returns the `_meta` of a request of the stateless revision as JSON text, sometimes incomplete. */
  modernMeta(speaker: Speaker): string;
}

export function createParamsMaker(dice: Dice): ParamsMaker {
  const { chance, pick, odd, idText, under } = dice;

  function modernMeta({ secret }: Speaker): string {
    const members: Members = [];
    const add = (name: string, right: string) => {
      if (chance(0.95)) members.push([name, chance(0.95) ? right : odd()]);
    };
    add(metaKeys.protocolVersion, json(modernVersion));
    const sampling = {
      sampling: {},
      extensions: { 'io.modelcontextprotocol/tasks': {} },
    };
    add(metaKeys.clientCapabilities, json(chance(0.5) ? sampling : {}));
    // Requests without a session that have the same client name and version count as one client, whose calls may mix up
    // requests of the server.
    if (chance(0.5)) add(metaKeys.clientInfo, json({ name: `fuzz ${secret}`, version: '1' }));
    if (chance(0.3)) add(metaKeys.logLevel, json(pick(logLevels)));
    if (chance(0.3)) members.push(['progressToken', idText()]);
    return objectOf(members);
  }

  function argumentsOf(tool: string, { secret }: Speaker): Members {
    const own: Members = [['secret', json(secret)]];
    if (tool === 'slow') own.push(['ms', String(under(15))]);
    if (tool === 'touch') own.push(['uri', json(pick(uris))]);
    if (chance(0.05)) own.push([pick(['a', 'secret', '__proto__']), odd()]);
    return own;
  }

  const named = (name: string, { prefix }: Speaker) => json(chance(0.97) ? prefix + name : name);

  const versions = ['2025-11-25', '2025-03-26', '2024-11-05', modernVersion, ''];
  const initialize = (): Members => [
    ['protocolVersion', json(pick(versions))],
    ['capabilities', chance(0.5) ? '{"sampling":{},"roots":{}}' : odd()],
    ['clientInfo', chance(0.8) ? '{"name":"fuzz","version":"1"}' : odd()],
  ];

  function call(speaker: Speaker): Members {
    const tool = pick(tools);
    const params: Members = [
      ['name', named(tool, speaker)],
      ['arguments', objectOf(argumentsOf(tool, speaker))],
    ];
    if (chance(0.04)) params.push(['task', chance(0.7) ? '{"ttl":1000}' : odd()]);
    if (chance(0.03)) params.push(['requestState', chance(0.5) ? '"a.1.1.b"' : odd()]);
    if (chance(0.03)) params.push(['inputResponses', odd()]);
    return params;
  }

  const references = [
    '{"type":"ref/prompt","name":"greet"}',
    '{"type":"ref/resource","uri":"whisper://of/{name}"}',
    '{}',
  ];

  function listen(): Members {
    const right = {
      toolsListChanged: chance(0.5),
      resourceSubscriptions: chance(0.5) ? [pick(uris), pick(uris)] : [],
      ...(chance(0.3) && { taskIds: ['task-1'] }),
    };
    const wrong = (): Members => [
      ['toolsListChanged', odd()],
      ['resourceSubscriptions', odd()],
      ['taskIds', odd()],
    ];
    return [['notifications', chance(0.8) ? json(right) : objectOf(wrong())]];
  }

  function of(method: string, speaker: Speaker): Members {
    switch (method) {
      case 'initialize':
        return initialize();
      case 'tools/call':
        return call(speaker);
      case 'prompts/get':
        return [
          ['name', named('greet', speaker)],
          ['arguments', objectOf(argumentsOf('', speaker))],
        ];
      case 'resources/read':
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return [['uri', json(pick(uris))]];
      case 'completion/complete':
        return [
          ['ref', pick(references)],
          ['argument', '{"name":"name","value":""}'],
        ];
      case 'logging/setLevel':
        return [['level', json(pick(logLevels))]];
      case 'tasks/get':
      case 'tasks/result':
      case 'tasks/cancel':
      case 'tasks/update':
      case 'notifications/tasks/status':
        return [['taskId', chance(0.8) ? json(`task-${under(40)}`) : odd()]];
      case 'subscriptions/listen':
        return listen();
      case 'notifications/cancelled':
        return [
          ['requestId', chance(0.8) ? idText() : odd()],
          ['reason', chance(0.5) ? '"enough"' : odd()],
        ];
      case 'notifications/progress':
        return [
          ['progressToken', chance(0.5) ? String(under(200)) : odd()],
          ['progress', chance(0.8) ? '1' : odd()],
        ];
      default:
        return [[pick(['a', 'cursor', 'name', 'uri']), odd()]];
    }
  }

  return { of, modernMeta };
}
