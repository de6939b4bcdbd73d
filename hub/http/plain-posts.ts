import { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import { type Clock, freeBuffer, moveToPages } from '#core';
import type { Principal } from '#policy';
import type { ByteBudget, Streamable } from '#transports';
import { type GuardedRequest, credentialsOf } from './guard.ts';
import type { Peer } from './peers.ts';
import { type PlainBody, type PlainHead, bodyUnder, parsePlainHead } from './plain-head.ts';
import type { McpPaths } from './mcp-paths.ts';
import { type PlainLink, PlainResponse } from './plain-response.ts';

type Options = {
  readonly maxBodyBytes: number;
  /** Maximum idle time of a connection before its first request, and between requests (`idleMs`), in milliseconds. */
  readonly firstMs: number;
  readonly idleMs: number;
};

/** Decides who may use a connection. */
type ConnectionAdmission = {
  /**
   * Returns the principal of a request; undefined if the guard refuses it. Called for every request, even with a
   * cached head.
   */
  readonly admit: (request: GuardedRequest) => Principal | undefined;
  /** True if a principal may use a connection. Called when the principal of the connection changes. */
  readonly mayHold: (socket: Socket, principal: Principal) => boolean;
};

export type PlainPostsNeeds = {
  readonly clock: Pick<Clock, 'now'>;
  readonly streamable: Pick<Streamable, 'handle'>;
  readonly admission: ConnectionAdmission;
  readonly paths: Pick<McpPaths, 'endpointOf' | 'viewer'>;
  /** Budget for answers that clients did not read at once. */
  readonly unread: Pick<ByteBudget, 'added'>;
  /** Passes the connection to Node's HTTP server, with the bytes that were already read. */
  readonly handOver: (socket: Socket, bytes: Buffer) => void;
  /** Answers a connection that sent nothing before the timeout. */
  readonly timedOut: (socket: Socket) => void;
};

/** Maximum number of pipelined requests that are answered at the same time. Above it, the connection is not read. */
const maxPipelined = 64;
/** Time in ms added to the idle timeout, because clients may send a request just before the timeout in Keep-Alive. */
const graceMs = 1_000;

/**
 * Answers plain POSTs to MCP endpoints without Node's HTTP, which costs as much as all other work for a call. A
 * connection that sends anything else is passed to Node (decisions/0015).
 */
export function createPlainPosts(options: Options, needs: PlainPostsNeeds) {
  const { streamable, paths, admission } = needs;
  const sockets = new Set<Socket>();
  const commonLines = createCommonLines(options.idleMs, needs.clock);
  const idleMs = options.idleMs + graceMs;

  /** Starts to read a new connection. */
  function take(socket: Socket, peer: Peer): void {
    /**
     * Parsed head of the last request, because most clients send the same head again. Admission is checked again each
     * time.
     */
    let known: { readonly head: PlainHead; readonly request: GuardedRequest } | undefined;
    let current: PlainResponse | undefined;
    /** Responses to the pipelined requests after `current`. */
    const later: PlainResponse[] = [];
    /**
     * Bytes that are not a plain POST, or follow too many pipelined requests. They wait until all earlier requests are
     * answered.
     */
    let waiting: Buffer | undefined;
    /** Start of a request whose rest has not arrived. Some clients write head and body separately. */
    let begun: Buffer | undefined;
    let stalled: (() => void) | undefined;
    let isFirst = true;
    /** The principal whose connection count includes this connection. */
    let holder: Principal | undefined;

    const link: PlainLink = {
      socket,
      commonLines,
      answered() {
        stalled = undefined;
        current = later.shift();
        if (current) return current.takeTurn();
        if (socket.timeout !== idleMs) socket.setTimeout(idleMs);
        // Deferred, because this runs within the sender of the answer.
        if (waiting) setImmediate(proceed);
        // A connection whose client does not read answers is not read either.
        else if (socket.writableNeedDrain) socket.pause();
      },
      patience(delayMs, onStalled) {
        socket.setTimeout(delayMs);
        needs.unread.added(socket.writableLength);
        if (onStalled) stalled = onStalled;
        // The idle timeout starts when all bytes are sent.
        else socket.write('', rest);
      },
    };

    function rest(): void {
      if (!current) socket.setTimeout(idleMs);
    }

    /** Parses the plain POST at the start of these bytes, and caches its head. Undefined for any other request. */
    function bodyOf(bytes: Buffer): PlainBody | undefined {
      let body = known && bodyUnder(bytes, known.head);
      if (!body) {
        const head = parsePlainHead(bytes);
        known = head && { head, request: guardedPost(head, peer) };
        body = head && bodyUnder(bytes, head);
      }
      return body;
    }

    function admitted(request: GuardedRequest): Principal | undefined {
      const principal = admission.admit(request);
      if (principal && principal !== holder) {
        if (!admission.mayHold(socket, principal)) return undefined;
        holder = principal;
      }
      return principal;
    }

    function receive(chunk: Buffer): void {
      const bytes = begun ? join(begun, chunk) : chunk;
      const body = later.length < maxPipelined ? bodyOf(bytes) : undefined;
      const principal = body && known && admitted(known.request);
      const post = principal && body;
      const endpoint = post && known && paths.endpointOf(known.head.url);
      if (
        !known ||
        !post ||
        endpoint === undefined ||
        !isTaken(post) ||
        (begun && post.missing > 0)
      ) {
        const isBody = begun !== undefined && post !== undefined && post.missing > 0;
        begun = undefined;
        waitOrLeave(bytes);
        // Node has copied the bytes, and nothing else refers to them.
        if (isBody && !waiting && socket.readableLength === 0) freeBuffer(bytes);
      } else if (post.missing > 0) begun = moveToPages(bytes);
      else {
        begun = undefined;
        isFirst = false;
        const response = new PlainResponse(link, current === undefined);
        if (current) later.push(response);
        else current = response;
        streamable.handle(
          { method: 'POST', headers: known.head.headers },
          response,
          post.body,
          endpoint,
          paths.viewer(principal, known.head.url),
        );
      }
    }

    /** Joins the start of a request with the next chunk, and frees both. */
    function join(first: Buffer, second: Buffer): Buffer {
      const joined = Buffer.concat([first, second]);
      for (const part of [first, second]) freeBuffer(part);
      return joined;
    }

    /** True if the size of a body is allowed and no bytes follow it. */
    function isTaken({ body, missing }: PlainBody): boolean {
      const length = body.length + missing;
      return missing >= 0 && length > 0 && length <= options.maxBodyBytes;
    }

    /**
     * Passes the connection to Node, after all pending answers: Node would otherwise send its own answer before them.
     */
    function waitOrLeave(bytes: Buffer): void {
      if (!current) return leave(bytes);
      waiting = bytes;
      socket.pause();
    }

    /** Resumes reading after all requests are answered. */
    function proceed(): void {
      if (current || socket.destroyed || socket.writableNeedDrain) return;
      const chunk = waiting;
      waiting = undefined;
      socket.resume();
      if (chunk) receive(chunk);
    }

    function timeout(): void {
      if (stalled) stalled();
      // Node waits for the rest of the request, and answers if it is late.
      else if (begun && !current) leave(begun);
      else if (isFirst) {
        forget();
        // The answer may fail to be sent.
        socket.on('error', fail);
        needs.timedOut(socket);
      }
      // There is no time limit for calls here.
      else if (!current) socket.destroy();
    }

    /** Ends the connection at the client's FIN, as Node does. */
    const end = () => void socket.end();
    const fail = () => void socket.destroy();

    function close(): void {
      sockets.delete(socket);
      for (const response of current ? [current, ...later] : []) response.closed();
    }

    function leave(bytes: Buffer): void {
      forget();
      needs.handOver(socket, bytes);
    }

    function forget(): void {
      sockets.delete(socket);
      socket.setTimeout(0);
      socket.off('data', receive).off('drain', proceed).off('timeout', timeout);
      socket.off('end', end).off('error', fail).off('close', close);
    }

    sockets.add(socket);
    socket.setTimeout(options.firstMs);
    socket.on('data', receive).on('drain', proceed).on('timeout', timeout);
    socket.on('end', end).on('error', fail).on('close', close);
  }

  return {
    take,
    /** Closes all connections that are read here. */
    endAll(): void {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Returns the request for the guard. A plain head has each header only once. */
const guardedPost = ({ url, headers }: PlainHead, peer: Peer): GuardedRequest => ({
  method: 'POST',
  target: url,
  headers,
  hostCount: 1,
  credentials: credentialsOf(headers),
  peer,
  takesForms: false,
});

/** Returns the header lines that all responses share. They contain the date, so they are created again each second. */
function createCommonLines(idleMs: number, clock: Pick<Clock, 'now'>): () => string {
  const connection = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(idleMs / 1000)}\r\n`;
  let second = -1;
  let lines = '';
  return () => {
    const now = Math.floor(clock.now() / 1000);
    if (now !== second) {
      second = now;
      lines = `Date: ${new Date(now * 1000).toUTCString()}\r\n${connection}`;
    }
    return lines;
  };
}
