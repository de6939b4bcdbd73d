import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import { type Clock, type Log, messageOf, moveToPages } from '#core';
import type { Principal } from '#policy';
import type { View } from '#routing';
import type { ByteBudget } from './byte-budget.ts';
import type { Connections } from './connection-table.ts';
import type { Connection, Wire } from './connection.ts';

/**
 * MCP over WebSocket, which is in no revision but spoken by clients: one text message is one JSON-RPC
 * message. The subprotocol `mcp` is accepted from those that offer it.
 */
export interface WebSockets {
  /** Takes over a connection whose request to upgrade was let in for this principal. */
  accept(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    view: View,
    principal: Principal,
  ): void;
}

export type WebSocketsOptions = {
  /** A connection with a longer message is closed with 1009. */
  readonly maxMessageBytes: number;
};

export type WebSocketsNeeds = {
  readonly connections: Pick<Connections, 'open'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
  /** The bytes of messages that are not complete. Absent: they are not counted. */
  readonly unfinished?: ByteBudget;
};

const subprotocol = 'mcp';
/** How long a client has to answer the closing of its connection, in milliseconds. */
const closeMs = 1_000;
/** A client that answers none of this many pings is not there any more. */
const maxUnansweredPings = 4;
const asText = { binary: false, compress: false } as const;

/** Codes with which a WebSocket is closed (RFC 6455, section 7.4.1, and the IANA's list). */
const goingAway = 1001;
const unsupportedData = 1003;
const tryAgainLater = 1013;
/** What a closing frame has room for, in bytes. */
const maxReasonBytes = 123;
/** What comes of a message behind so many bytes stands in pages of its own, as it may stay unfinished for long. */
const movedBytes = 256 * 1024;

export function createWebSockets(options: WebSocketsOptions, needs: WebSocketsNeeds): WebSockets {
  const { connections, clock, log } = needs;
  let loading: Promise<WebSocketServer> | undefined;

  async function load(): Promise<WebSocketServer> {
    const ws = await import('ws');
    return new ws.WebSocketServer({
      noServer: true,
      clientTracking: false,
      // Compressing takes far more of memory and time than a local connection saves.
      perMessageDeflate: false,
      // Answered below, as far as the client takes the answers.
      autoPong: false,
      maxPayload: options.maxMessageBytes,
      handleProtocols: offered => offered.has(subprotocol) && subprotocol,
    });
  }

  /** A client that does not answer the closing of its connection is not waited for. */
  function close(ws: WebSocket, code: number, reason: string): void {
    if (ws.readyState !== ws.OPEN) return;
    const bytes = Buffer.from(reason);
    // A character that is cut in two is no text any more.
    ws.close(code, bytes.length > maxReasonBytes ? '' : bytes);
    const giveUp = clock.after(closeMs, () => ws.terminate());
    ws.once('close', () => giveUp[Symbol.dispose]());
  }

  function adopt(ws: WebSocket, socket: Duplex, view: View, principal: Principal): void {
    let unanswered = 0;
    // The errors of the protocol close the connection, which is told below.
    ws.on('error', error => log.debug({ error: error.message }, 'a WebSocket failed'));
    const wire: Wire = {
      kind: 'websocket',
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
    };
    let connection: Connection;
    try {
      connection = connections.open(view, principal, wire);
    } catch (error) {
      return close(ws, tryAgainLater, messageOf(error));
    }
    const { unfinished } = needs;
    let unfinishedBytes = 0;
    const held = unfinished?.hold({
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
    // Node's socket hands over what has come by this.
    socket.push = (chunk, encoding) =>
      push(
        Buffer.isBuffer(chunk) && unfinishedBytes > movedBytes ? moveToPages(chunk) : chunk,
        encoding,
      );
    socket.on('data', (chunk: Buffer) => {
      unfinishedBytes += chunk.length;
      unfinished?.added(chunk.length);
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
      held?.[Symbol.dispose]();
      connection.gone('the client hung up');
    });
  }

  return {
    accept(request, socket, head, view, principal) {
      // A client that leaves while the package is being loaded is no reason to end.
      socket.on('error', () => {});
      loading ??= load();
      loading.then(
        server =>
          server.handleUpgrade(request, socket, head, ws => adopt(ws, socket, view, principal)),
        (error: unknown) => {
          log.error({ error: messageOf(error) }, 'WebSockets cannot be served');
          socket.destroy();
        },
      );
    },
  };
}

/**
 * Answers pings. While one answer waits for the client to read, only the newest ping after it is kept
 * (RFC 6455, section 5.5.3): who pings without reading would fill the memory.
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
