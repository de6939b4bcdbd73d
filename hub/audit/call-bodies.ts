import { hash } from 'node:crypto';
import { writeDigits, writeWhole } from './digits.ts';
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
/** More than the members of a call take, of which five are texts with at most six bytes for each character. */
const maxBodyBytes = 32 * 1024;

const argumentsMember = Buffer.from(',"arguments_sha256":"');
const durationMember = Buffer.from(',"duration_ms":');
const [quote, point] = [0x22, 0x2e];

/**
 * Creates the function that writes the members of the line of a call. It writes bytes and no strings, and copies what
 * the call shares with earlier ones: there is a line for each call, while it is answered.
 */
export function createCallBodies({ member }: Pick<Texts, 'member'>) {
  const body = Buffer.allocUnsafeSlow(maxBodyBytes);
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
  function writeTime(at: number): number {
    const whole = Math.floor(at);
    const second = Math.floor(whole / 1000);
    if (second !== lastSecond) {
      secondBytes = Buffer.from(`"at":"${new Date(second * 1000).toISOString().slice(0, -4)}`);
      lastSecond = second;
    }
    body.set(secondBytes);
    return writeDigits(body, secondBytes.length, whole - second * 1000, 3);
  }

  function writeSession(at: number, session: string): number {
    if (session !== lastSession) {
      sessionBytes = Buffer.from(`,"session":${JSON.stringify(session)}`);
      lastSession = session;
    }
    body.set(sessionBytes, at);
    return at + sessionBytes.length;
  }

  function writeHash(at: number, args: Buffer): number {
    body.set(argumentsMember, at);
    const end = at + argumentsMember.length;
    const written = body.write(hash('sha256', args, 'hex'), end, 'latin1');
    body[end + written] = quote;
    return end + written + 1;
  }

  /** Writes milliseconds with three decimals. */
  function writeDuration(at: number, tookMs: number): number {
    const thousandths = Math.max(0, Math.round(tookMs * 1000));
    const whole = Math.floor(thousandths / 1000);
    body.set(durationMember, at);
    const end = writeWhole(body, at + durationMember.length, whole);
    body[end] = point;
    return writeDigits(body, end + 1, thousandths - whole * 1000, 3);
  }

  return {
    /** The part that a call shares with earlier ones. `principal` is a policy name. */
    sharedOf: (call: AuditedCall, principal: string): SharedMembers =>
      sharedOf(call, principal).bytes,
    /** `args` is the text of the arguments. The result is overwritten by the next call. */
    write(
      { at: time, tookMs, session }: Pick<AuditedCall, 'at' | 'tookMs' | 'session'>,
      members: SharedMembers,
      args: Buffer | undefined,
    ): Buffer {
      let at = writeTime(time);
      body.set(members, at);
      at = writeSession(at + members.length, session);
      if (args) at = writeHash(at, args);
      return body.subarray(0, writeDuration(at, tookMs));
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
