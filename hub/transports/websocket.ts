import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import { type Clock, type Log, messageOf, moveToPages } from '#core';
import type { Principal } from '#policy';
import type { Endpoint } from '#routing';
import type { ByteBudget } from './byte-budget.ts';
import type { Connection } from './connection.ts';
import type { ClientConnections } from './connections.ts';
import { clientNameIn } from './http-message.ts';

export type WebSockets = ReturnType<typeof createWebSockets>;

type WebSocketsNeeds = {
  readonly connections: Pick<ClientConnections, 'open'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
  /** Budget for the bytes of incomplete messages. */
  readonly unfinished: ByteBudget;
};

const subprotocol = 'mcp';
/** Time in ms to wait for the client's close frame. */
const closeMs = 1_000;
/** Maximum number of unanswered pings. A client above it is dropped. */
const maxUnansweredPings = 4;
const asText = { binary: false, compress: false } as const;

/** Close codes (RFC 6455, section 7.4.1, and IANA's registry). */
const goingAway = 1001;
const unsupportedData = 1003;
const policyViolation = 1008;
const tryAgainLater = 1013;
/** Maximum length of the reason in a close frame, in bytes. */
const maxReasonBytes = 123;
/**
 * Size in bytes from which the rest of a message is copied to memory of its own, because the message may stay
 * incomplete for long.
 */
const movedBytes = 256 * 1024;

/**
 * Creates the transport MCP over WebSocket, which clients use although no revision defines it: a text message is a
 * JSON-RPC message. The subprotocol `mcp` is accepted if the client offers it. A connection with a message longer than
 * `maxMessageBytes` is closed with 1009.
 */
export function createWebSockets(
  { maxMessageBytes }: { readonly maxMessageBytes: number },
  { connections, clock, log, unfinished }: WebSocketsNeeds,
) {
  let loading: Promise<WebSocketServer> | undefined;

  async function load(): Promise<WebSocketServer> {
    const ws = await import('ws');
    return new ws.WebSocketServer({
      noServer: true,
      clientTracking: false,
      // Compression costs more memory and time than it saves on a local connection.
      perMessageDeflate: false,
      // Pings are answered below, only as fast as the client reads the answers.
      autoPong: false,
      maxPayload: maxMessageBytes,
      handleProtocols: offered => offered.has(subprotocol) && subprotocol,
    });
  }

  /** Ends the connection if the client does not answer the close frame in time. */
  function close(ws: WebSocket, code: number, reason: string): void {
    if (ws.readyState !== ws.OPEN) return;
    const bytes = Buffer.from(reason);
    // Truncating the reason could split a character, so a long reason is omitted.
    ws.close(code, bytes.length > maxReasonBytes ? '' : bytes);
    const giveUp = clock.after(closeMs, () => ws.terminate());
    ws.once('close', () => giveUp[Symbol.dispose]());
  }

  function adopt(
    ws: WebSocket,
    { headers, socket }: Pick<IncomingMessage, 'headers'> & { readonly socket: Duplex },
    endpoint: Endpoint,
    principal: Principal,
  ): void {
    let unanswered = 0;
    // Protocol errors close the connection, which is handled below.
    ws.on('error', error => log.debug({ error: error.message }, 'a WebSocket failed'));
    let connection: Connection;
    try {
      connection = connections.open(endpoint, principal, {
        kind: 'websocket',
        clientName: clientNameIn(headers),
        write(messages) {
          socket.cork();
          for (const message of messages) ws.send(message, asText);
          socket.uncork();
        },
        unsentBytes: () => ws.bufferedAmount,
        close: reason => close(ws, goingAway, reason),
        drop: reason => close(ws, tryAgainLater, reason),
        keepAlive() {
          if (unanswered++ < maxUnansweredPings) ws.ping();
          else connection.drop(`the client has answered none of ${maxUnansweredPings} pings`);
        },
      });
    } catch (error) {
      return close(ws, tryAgainLater, messageOf(error));
    }
    let unfinishedBytes = 0;
    const held = unfinished.hold({
      bytes: () => unfinishedBytes,
      pause: () => ws.pause(),
      resume: () => ws.resume(),
      drop(reason) {
        connection.gone(reason);
        close(ws, tryAgainLater, reason);
        socket.pause();
      },
    });
    const push = socket.push.bind(socket);
    // Node's socket passes received data to this function.
    socket.push = (chunk, encoding) =>
      push(
        Buffer.isBuffer(chunk) && unfinishedBytes > movedBytes ? moveToPages(chunk) : chunk,
        encoding,
      );
    socket.on('data', (chunk: Buffer) => {
      unfinishedBytes += chunk.length;
      unfinished.added(chunk.length);
    });
    ws.on('message', (data, isBinary) => {
      unanswered = 0;
      unfinishedBytes = 0;
      if (!isBinary && Buffer.isBuffer(data)) return connection.receive(data);
      connection.gone('the client sent a binary message');
      close(ws, unsupportedData, 'MCP messages are text');
    });
    ws.on('ping', createPonger(ws));
    ws.on('pong', () => (unanswered = 0));
    ws.on('close', () => {
      held[Symbol.dispose]();
      connection.gone('the client hung up');
    });
  }

  return {
    /**
     * Accepts a connection whose upgrade the guard admitted. `admit` checks the principal again, because loading the
     * WebSocket package takes a moment.
     */
    accept(
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      endpoint: Endpoint,
      admit: () => Principal | undefined,
    ): void {
      // The client may disconnect while the package is being loaded.
      socket.on('error', () => {});
      loading ??= load();
      loading.then(
        server =>
          server.handleUpgrade(request, socket, head, ws => {
            const principal = admit();
            if (principal) adopt(ws, { headers: request.headers, socket }, endpoint, principal);
            else close(ws, policyViolation, 'the token was revoked');
          }),
        (error: unknown) => {
          log.error({ error: messageOf(error) }, 'WebSockets cannot be served');
          socket.destroy();
        },
      );
    },
  };
}

/**
 * Answers pings. While an answer waits to be sent, only the newest ping is stored (RFC 6455, section 5.5.3), so that a
 * client that does not read cannot fill the memory.
 */
function createPonger(ws: WebSocket): (data: Buffer) => void {
  let isWaiting = false;
  let newest: Buffer | undefined;
  return function pong(data) {
    if (isWaiting) {
      newest = data;
      return;
    }
    isWaiting = true;
    ws.pong(data, false, () => {
      isWaiting = false;
      const next = newest;
      newest = undefined;
      if (next) pong(next);
    });
  };
}
