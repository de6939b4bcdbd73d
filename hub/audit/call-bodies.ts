import { hash } from 'node:crypto';
import { writeShort, writeThree, writeWhole } from './digits.ts';
import { type Texts, maxText } from './texts.ts';

/** A call that was answered. */
export type AuditedCall = {
  readonly method: string;
  readonly name: string | undefined;
  readonly server: string | undefined;
  readonly session: string;
  readonly client: string | undefined;
  readonly at: number;
  readonly tookMs: number;
  readonly outcome: string;
  /** One constant for each rule. */
  readonly decision?: { readonly action: string; readonly rule: string | undefined };
};

/** The members that a call shares with most calls of its client, as bytes. */
export type SharedMembers = Buffer;

export type CallBodies = ReturnType<typeof createCallBodies>;

type Shared = Pick<AuditedCall, 'method' | 'name' | 'server' | 'client' | 'outcome'> & {
  readonly decision: AuditedCall['decision'] | undefined;
  readonly principal: string;
  readonly bytes: SharedMembers;
};

/** Bound of the cache of shared members, which is cleared when full. */
const maxShared = 2_000;
/** Bound for the time, the hash of the arguments and the duration, in bytes. */
const maxOtherBytes = 160;

const argumentsMember = Buffer.from(',"arguments_sha256":"');
const durationMember = Buffer.from(',"duration_ms":');
const [quote, point] = [0x22, 0x2e];

/**
 * Creates the function that writes the members of the line of a call. It writes bytes into the page of the line and no
 * strings, and copies what the call shares with earlier ones: there is a line for each call, while it is answered.
 */
export function createCallBodies({ member }: Pick<Texts, 'member'>) {
  /** By principal and name. */
  const shared = new Map<string, Map<string | undefined, Shared>>();
  let sharedCount = 0;
  let last: Shared | undefined;
  let lastSession: string | undefined;
  let sessionBytes = Buffer.alloc(0);
  let lastSecond = NaN;
  let secondBytes = Buffer.alloc(0);

  function sharedOf(call: AuditedCall, principal: string): Shared {
    if (last && isOf(last, call, principal)) return last;
    const known = shared.get(principal)?.get(call.name);
    if (known && isOf(known, call, principal)) return (last = known);
    const { method, name, server, client, outcome, decision } = call;
    const text =
      `Z","kind":"call"${member('principal', principal)}${member('client', client)}` +
      `${member('server', server)}${member('method', method)}${member('name', name)}` +
      `${member('decision', decision?.action)}${member('rule', decision?.rule)}` +
      member('outcome', outcome);
    const bytes = Buffer.from(text);
    const made = { method, name, server, client, outcome, decision, principal, bytes };
    // Others keep longer texts than a line has.
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

  /** Writes the time in UTC, without its end. Formats only the milliseconds if the second is that of the last line. */
  function writeTime(to: Buffer, at: number, time: number): number {
    const whole = Math.floor(time);
    const second = Math.floor(whole / 1000);
    if (second !== lastSecond) {
      secondBytes = Buffer.from(`"at":"${new Date(second * 1000).toISOString().slice(0, -4)}`);
      lastSecond = second;
    }
    return writeThree(to, writeShort(to, at, secondBytes), whole - second * 1000);
  }

  function sessionMember(session: string): Buffer {
    if (session !== lastSession) {
      sessionBytes = Buffer.from(`,"session":${JSON.stringify(session)}`);
      lastSession = session;
    }
    return sessionBytes;
  }

  return {
    /** The part that a call shares with earlier ones. `principal` is a policy name. */
    sharedOf: (call: AuditedCall, principal: string): SharedMembers =>
      sharedOf(call, principal).bytes,
    /** Bound for the length of what `write` writes, in bytes. */
    maxBytes: (members: SharedMembers, session: string): number =>
      members.length + sessionMember(session).length + maxOtherBytes,
    /** Writes the members of a call, and returns the position after them. `args` is the text of the arguments. */
    write(
      to: Buffer,
      start: number,
      { at: time, tookMs, session }: Pick<AuditedCall, 'at' | 'tookMs' | 'session'>,
      members: SharedMembers,
      args: Buffer | undefined,
    ): number {
      let at = writeTime(to, start, time);
      to.set(members, at);
      at = writeShort(to, at + members.length, sessionMember(session));
      if (args) at = writeHash(to, at, args);
      return writeDuration(to, at, tookMs);
    },
    /** Drops the cache, because other secrets are known now. */
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

function writeHash(to: Buffer, at: number, args: Buffer): number {
  const end = writeShort(to, at, argumentsMember);
  const written = to.write(hash('sha256', args, 'hex'), end, 'latin1');
  to[end + written] = quote;
  return end + written + 1;
}

/** Writes milliseconds with three decimals. */
function writeDuration(to: Buffer, at: number, tookMs: number): number {
  const thousandths = Math.max(0, Math.round(tookMs * 1000));
  const whole = Math.floor(thousandths / 1000);
  const end = writeWhole(to, writeShort(to, at, durationMember), whole);
  to[end] = point;
  return writeThree(to, end + 1, thousandths - whole * 1000);
}
