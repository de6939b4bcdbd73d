import { metaKeys, modernVersion } from '#mcp';
import { mutate } from '../jsonrpc/random-json.ts';
import { createDice } from './dice.ts';
import { type Speaker, createParamsMaker } from './params.ts';
import { type Members, badIds, json, keyForms, methods, objectOf, oddIds } from './vocabulary.ts';

export type { Speaker };

/** A generated message, as sent by a client. */
export type Made = {
  readonly bytes: Buffer;
  /** Text that the answer must contain, for a valid call of `echo`; undefined for all other messages. */
  readonly echoes: string | undefined;
};

/** Generates messages of clients. The same seed and the same sequence of calls give the same messages. */
export interface Generator {
  /** Returns a message, anything from valid to garbage. */
  message(speaker: Speaker): Made;
  /** Returns the reply of a client to a request of a server with this id (JSON text); undefined for no reply. */
  reply(speaker: Speaker, id: string): Buffer | undefined;
  /** Returns a retry of a request that required input; `params` and `state` are JSON texts. */
  retry(speaker: Speaker, method: string, params: string, state: string): Buffer;
  readonly random: () => number;
}

const sampled = (secret: string) => ({
  role: 'assistant',
  model: 'm',
  content: { type: 'text', text: secret },
});

export function createGenerator(seed: number): Generator {
  const dice = createDice(seed);
  const { random, chance, pick, odd, idText, under } = dice;
  const params = createParamsMaker(dice);

  function envelope(speaker: Speaker): Members {
    if (chance(0.06)) return strayAnswer();
    const method = pick(methods);
    const given = params.of(method, speaker);
    const isModern = speaker.era === 'modern' ? chance(0.95) : chance(0.03);
    if (isModern) given.push(['_meta', params.modernMeta(speaker)]);
    else if (chance(0.4)) given.push(['_meta', objectOf([['progressToken', idText()]])]);
    const members: Members = [['jsonrpc', '"2.0"']];
    if (!method.startsWith('notifications/') || chance(0.05)) members.push(['id', idText()]);
    members.push(['method', json(method)]);
    if (method !== 'ping' || chance(0.5)) members.push(['params', objectOf(given)]);
    return members;
  }

  /** Returns an answer to a request that no one sent. */
  function strayAnswer(): Members {
    const payload: readonly [string, string] = chance(0.5)
      ? ['result', odd()]
      : ['error', chance(0.5) ? '{"code":-1,"message":"no"}' : odd()];
    const id = chance(0.5) ? String(under(5000)) : idText();
    return [['jsonrpc', '"2.0"'], ['id', id], payload];
  }

  /** Changes one member of the envelope or the params. */
  function change(members: Members): Members {
    const at = under(members.length);
    const [name, text] = members[at] ?? ['x', 'null'];
    switch (under(8)) {
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

  /** Adds white space where JSON allows it. */
  const spaced = (text: string) =>
    pick([' ', '\n', '\t', '\r\n']) + text.replaceAll('":', `" : ${pick([' ', '\n', ''])}`);

  function pristine(speaker: Speaker): Made {
    const mark = `${speaker.secret}-${under(1e9)}`;
    const given: Members = [
      ['name', json(`${speaker.prefix}echo`)],
      ['arguments', objectOf([['secret', json(mark)]])],
    ];
    if (speaker.era === 'modern')
      given.push([
        '_meta',
        json({
          [metaKeys.protocolVersion]: modernVersion,
          [metaKeys.clientCapabilities]: {},
        }),
      ]);
    // A unique id, so that no other message can cancel the call.
    const id = json(`pristine ${mark}`);
    const message = objectOf([
      ['jsonrpc', '"2.0"'],
      ['id', id],
      ['method', '"tools/call"'],
      ['params', objectOf(given)],
    ]);
    return { bytes: Buffer.from(message), echoes: `echo ${mark}` };
  }

  function whole(speaker: Speaker): string {
    let members = envelope(speaker);
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
        ['result', json(sampled(speaker.secret))],
      ];
      if (chance(0.15)) members[2] = ['error', chance(0.5) ? '{"code":-1,"message":"no"}' : odd()];
      return Buffer.from(objectOf(chance(0.15) ? change(members) : members));
    },
    retry(speaker, method, given, state) {
      const responses = chance(0.85) ? json({ 1: sampled(speaker.secret) }) : odd();
      const more = `${given.slice(0, -1)},"requestState":${chance(0.15) ? odd() : state},"inputResponses":${responses}}`;
      return Buffer.from(
        `{"jsonrpc":"2.0","id":${idText()},"method":${json(method)},"params":${more}}`,
      );
    },
  };
}
