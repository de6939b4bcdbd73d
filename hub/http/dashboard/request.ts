import type { FastifyReply, FastifyRequest } from 'fastify';
import { isObject } from '#core';
import type { Failure, Frame, Html, Page, Visitor } from '#dashboard';

/** Functions that send responses. */
export type Answering = {
  readonly frame: Frame;
  readonly visitorOf: (request: FastifyRequest) => Visitor;
  readonly page: (reply: FastifyReply, page: Page, status?: number) => FastifyReply;
  /** Sends an error page, or a notice for htmx. */
  readonly refuse: (
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    failure: Failure,
  ) => FastifyReply;
  /** Sends a part of a page for htmx. */
  readonly part: (reply: FastifyReply, part: Html) => FastifyReply;
};

/** The string member of a value; empty if missing. */
export function textAt(value: unknown, name: string): string {
  const text = isObject(value) ? value[name] : undefined;
  return typeof text === 'string' ? text : '';
}

/** The fields of a form; empty without a form. */
export const formOf = ({ body }: FastifyRequest): URLSearchParams =>
  body instanceof URLSearchParams ? body : new URLSearchParams();

/** A decoded path parameter. */
export const paramOf = ({ params }: FastifyRequest, name: string): string => textAt(params, name);

/** A query parameter; empty if it is missing or duplicated. */
export const queryOf = ({ query }: FastifyRequest, name: string): string => textAt(query, name);

/** True for a request of htmx, which expects a part of a page. */
export const isHtmx = ({ headers: sent }: FastifyRequest): boolean => sent['hx-request'] === 'true';

/** URL of the hub for clients on the visitor's machine. */
export const endpointOf = ({ protocol, headers }: FastifyRequest): string =>
  `${protocol}://${headers.host ?? 'localhost'}/mcp`;
