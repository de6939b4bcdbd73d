import { hash } from 'node:crypto';
import { writeMilliseconds, writeShort, writeThree } from '#core';
import type { WriteMembers } from './pages.ts';
import { type Texts, maxText } from './texts.ts';

/** An answered call. */
export type AuditedCall = {
  readonly method: string;
  readonly name: string | undefined;
  readonly server: string | undefined;
  readonly session: string;
  readonly client: string | undefined;
  readonly at: number;
  readonly tookMs: number;
  readonly outcome: string;
  /** Decision of the policy. One constant object for each rule, so it is compared by identity. */
  readonly decision?: { readonly action: string; readonly rule: string | undefined };
};

/**
 * The members of a call's line as bytes, up to the hash of the arguments. Calls that differ only in session, time and
 * arguments share it. Its session and time are those of the last line that was written with it.
 */
type LineTemplate = {
  bytes: Buffer;
  /** Number of bytes before the member `session`. They are equal in all lines of the template. */
  readonly sharedBytes: number;
  session: string | undefined;
  second: number;
};

type CallBodies = ReturnType<typeof createCallBodies>;

type Shared = Pick<AuditedCall, 'method' | 'name' | 'server' | 'client' | 'outcome'> & {
  readonly decision: AuditedCall['decision'] | undefined;
  readonly principal: string;
  readonly template: LineTemplate;
};

/** Maximum number of cached templates. The cache is cleared when full. */
const maxShared = 2_000;
/** Maximum size of the hash of the arguments and the duration, in bytes. */
const maxOtherBytes = 128;

const timeMember = '"at":"';
/** Offset of the milliseconds. A line begins with its time in UTC; the template contains the time up to the second. */
const timeEnd = timeMember.length + '2026-01-01T00:00:00.'.length;
const argumentsMember = ',"arguments_sha256":"';
const durationMember = Buffer.from(',"duration_ms":');
const quote = 0x22;

/**
 * Creates the function that writes the members of a call's line. As each call gets a line while it is answered, the
 * function writes bytes straight into the page, creates no strings, and copies the members that calls share.
 */
export function createCallBodies({ member }: Pick<Texts, 'member'>) {
  /** Templates by principal, then by name of the tool, prompt or resource. */
  const shared = new Map<string, Map<string | undefined, Shared>>();
  let sharedCount = 0;
  let last: Shared | undefined;

  function sharedOf(call: AuditedCall, principal: string): Shared {
    if (last && isOf(last, call, principal)) return last;
    const known = shared.get(principal)?.get(call.name);
    if (known && isOf(known, call, principal)) return (last = known);
    const { method, name, server, client, outcome, decision } = call;
    const text =
      `${timeMember}${timeOf(0)}","kind":"call"${member('principal', principal)}${member('client', client)}` +
      `${member('server', server)}${member('method', method)}${member('name', name)}` +
      `${member('decision', decision?.action)}${member('rule', decision?.rule)}` +
      member('outcome', outcome);
    const bytes = Buffer.from(text);
    const template = { bytes, sharedBytes: bytes.length, session: undefined, second: 0 };
    const made = { method, name, server, client, outcome, decision, principal, template };
    // A cached entry would keep texts in memory that are longer than those in its line.
    if ([method, name, client].every(one => one === undefined || one.length <= maxText)) keep(made);
    return made;
  }

  function keep(made: Shared): void {
    if (sharedCount >= maxShared) forget();
    let names = shared.get(made.principal);
    if (!names) shared.set(made.principal, (names = new Map()));
    sharedCount++;
    names.set(made.name, made);
    last = made;
  }

  function forget(): void {
    shared.clear();
    sharedCount = 0;
    last = undefined;
  }

  return {
    /** Returns the template for the line of a call. `principal` is a policy name. */
    templateOf: (call: AuditedCall, principal: string): LineTemplate =>
      sharedOf(call, principal).template,
    /** Returns the maximum number of bytes that `write` writes for a template. */
    maxBytes(template: LineTemplate, session: string): number {
      if (template.session !== session) setSession(template, session);
      return template.bytes.length + maxOtherBytes;
    },
    /** Writes the members of a call at `start`, and returns the end position. `args`: JSON text of the arguments. */
    write(
      to: Buffer,
      start: number,
      { at: time, tookMs, session }: Pick<AuditedCall, 'at' | 'tookMs' | 'session'>,
      template: LineTemplate,
      args: Buffer | undefined,
    ): number {
      if (template.session !== session) setSession(template, session);
      const whole = Math.floor(time);
      const second = Math.floor(whole / 1000);
      if (template.second !== second) setSecond(template, second);
      const { bytes } = template;
      to.set(bytes, start);
      writeThree(to, start + timeEnd, whole - second * 1000);
      const end = start + bytes.length;
      return writeDuration(
        to,
        args ? writeHash(to, end, args) : end - argumentsMember.length,
        tookMs,
      );
    },
    /** Clears the cache of templates. Call it when the hub learns of other secrets. */
    forget,
  };
}

const isOf = (known: Shared, call: AuditedCall, principal: string): boolean =>
  known.name === call.name &&
  known.client === call.client &&
  known.principal === principal &&
  known.server === call.server &&
  known.method === call.method &&
  known.outcome === call.outcome &&
  known.decision === call.decision;

const timeOf = (second: number): string => new Date(second * 1000).toISOString();

function setSecond(template: LineTemplate, second: number): void {
  template.bytes.write(timeOf(second), timeMember.length, 'latin1');
  template.second = second;
}

function setSession(template: LineTemplate, session: string): void {
  const shared = template.bytes.subarray(0, template.sharedBytes);
  const others = Buffer.from(`,"session":${JSON.stringify(session)}${argumentsMember}`);
  template.bytes = Buffer.concat([shared, others]);
  template.session = session;
}

function writeHash(to: Buffer, at: number, args: Buffer): number {
  const end = at + to.write(hash('sha256', args, 'hex'), at, 'latin1');
  to[end] = quote;
  return end + 1;
}

function writeDuration(to: Buffer, at: number, tookMs: number): number {
  return writeMilliseconds(to, writeShort(to, at, durationMember), Math.max(0, tookMs));
}

/** Maximum number of waiting calls. A larger queue would delay the call that drains it. */
const maxCalls = 128;
const maxArgumentBytes = 64 * 1024;
/** Maximum size of arguments that are queued, in bytes. Larger ones are hashed at once, as hashing dominates then. */
const maxWaitingArguments = 2 * 1024;

/** Arguments of a call: a range of bytes in its message. */
export type ArgumentsText = {
  readonly message: Buffer;
  readonly start: number;
  readonly end: number;
};

/**
 * Creates the queue of answered calls whose lines are not built yet, in preallocated arrays. Building many lines at
 * once takes a third of the time, as the code stays in the processor's cache.
 */
export function createCallQueue(
  bodies: CallBodies,
  addLine: (write: WriteMembers, maxBytes: number) => void,
) {
  const numbers = () => new Float64Array(maxCalls);
  const [at, tookMs, argumentsFrom, argumentsEnd] = [numbers(), numbers(), numbers(), numbers()];
  const templates: LineTemplate[] = [];
  const sessions: string[] = [];
  const argumentBytes = Buffer.allocUnsafeSlow(maxArgumentBytes);
  let count = 0;
  let used = 0;
  /** Index of the call whose line is being built. */
  let current = 0;
  let template: LineTemplate | undefined;
  const numbersOf = { at: 0, tookMs: 0, session: '' };

  function writeCurrent(to: Buffer, start: number): number {
    if (!template) return start;
    const [from = 0, end = 0] = [argumentsFrom[current], argumentsEnd[current]];
    const args = end < 0 ? undefined : argumentBytes.subarray(from, end);
    numbersOf.at = at[current] ?? 0;
    numbersOf.tookMs = tookMs[current] ?? 0;
    numbersOf.session = sessions[current] ?? '';
    return bodies.write(to, start, numbersOf, template, args);
  }

  /** Builds the lines of all waiting calls. */
  function drain(): void {
    const waiting = count;
    count = 0;
    used = 0;
    for (current = 0; current < waiting; current++) {
      template = templates[current];
      if (template) addLine(writeCurrent, bodies.maxBytes(template, sessions[current] ?? ''));
    }
  }

  return {
    /** Queues a call. `principal` is a policy name. Copies the arguments. */
    add(call: AuditedCall, principal: string, args: ArgumentsText | undefined): void {
      const members = bodies.templateOf(call, principal);
      const length = args ? args.end - args.start : 0;
      if (count === maxCalls || used + length > maxArgumentBytes || length > maxWaitingArguments)
        drain();
      if (args && length > maxWaitingArguments) {
        const text = args.message.subarray(args.start, args.end);
        return addLine(
          (to, start) => bodies.write(to, start, call, members, text),
          bodies.maxBytes(members, call.session),
        );
      }
      at[count] = call.at;
      tookMs[count] = call.tookMs;
      templates[count] = members;
      sessions[count] = call.session;
      argumentsFrom[count] = used;
      argumentsEnd[count] = args ? used + length : -1;
      args?.message.copy(argumentBytes, used, args.start, args.end);
      used += length;
      count++;
    },
    drain,
  };
}
