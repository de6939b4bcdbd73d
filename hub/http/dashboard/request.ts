import type { FastifyReply, FastifyRequest } from 'fastify';
import { isObject } from '#core';
import type { Failure, Frame, Html, Page, Visitor } from '#dashboard';

/** How answers are sent. */
export type Answering = {
  readonly frame: Frame;
  readonly visitorOf: (request: FastifyRequest) => Visitor;
  readonly page: (reply: FastifyReply, page: Page, status?: number) => FastifyReply;
  /** Says why there is no such page, or why something was not done: as a page or, to htmx, as a notice. */
  readonly refuse: (
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    failure: Failure,
  ) => FastifyReply;
  /** A part of a page, as htmx asks for it. */
  readonly part: (reply: FastifyReply, part: Html) => FastifyReply;
};

/** The text under a name, in a value that may be anything; empty where there is none. */
export function textAt(value: unknown, name: string): string {
  const text = isObject(value) ? value[name] : undefined;
  return typeof text === 'string' ? text : '';
}

/** What a form said; nothing where there was none. */
export const formOf = ({ body }: FastifyRequest): URLSearchParams =>
  body instanceof URLSearchParams ? body : new URLSearchParams();

/** A part of the path, decoded. */
export const paramOf = ({ params }: FastifyRequest, name: string): string => textAt(params, name);

/** A parameter of the query; empty where it is missing or stands twice. */
export const queryOf = ({ query }: FastifyRequest, name: string): string => textAt(query, name);

/** Whether htmx asks, which wants a part of a page. */
export const isHtmx = ({ headers: sent }: FastifyRequest): boolean => sent['hx-request'] === 'true';

/** Where clients of whoever asks find the hub. */
export const endpointOf = ({ protocol, headers }: FastifyRequest): string =>
  `${protocol}://${headers.host ?? 'localhost'}/mcp`;
