import type { FastifyRequest } from 'fastify';
import { HubError, messageOf } from '#core';
import {
  failureNotice,
  logPartial,
  offersPartial,
  paths,
  remove,
  server as serverPage,
  statePartial,
  tool as toolPage,
  toolResult,
  withQuery,
} from '#dashboard';
import { noticeOf } from './actions.ts';
import type { Given } from './given.ts';
import type { DashboardAnswers } from './needs.ts';
import { formOf, isHtmx, paramOf, queryOf } from './request.ts';
import { toolView, tryTool } from './try-tool.ts';
import { hangUpOf } from '../routes/events.ts';

type Names =
  | 'server'
  | 'statePartial'
  | 'offersPartial'
  | 'logPartial'
  | 'confirmRemove'
  | 'tool'
  | 'callTool';

/** The pages of a server. */
export function serverPages(given: Given): Pick<DashboardAnswers, Names> {
  const { page, part, redact, servers, usage, views } = given;
  const find = (request: FastifyRequest) => servers.get(paramOf(request, 'name'));
  const fromOf = (request: FastifyRequest) => {
    const from = queryOf(request, 'from');
    return /^\d{1,9}$/.test(from) ? Number(from) : 0;
  };
  const viewOf = (request: FastifyRequest) =>
    views.whole(find(request), fromOf(request), given.visitorOf(request).rights);

  return {
    async server(request, reply) {
      await usage.look();
      const view = viewOf(request);
      return page(reply, {
        title: view.name,
        at: 'overview',
        main: serverPage(view),
        events: withQuery(paths.events, { server: view.name }),
        notice: noticeOf(request),
      });
    },
    async statePartial(request, reply) {
      await usage.look();
      return part(reply, statePartial(viewOf(request)));
    },
    async offersPartial(request, reply) {
      const { name, offers, state } = viewOf(request);
      return part(reply, offersPartial(name, offers, state));
    },
    async logPartial(request, reply) {
      const { name, log } = viewOf(request);
      return part(reply, logPartial(name, log ?? ''));
    },
    async confirmRemove(request, reply) {
      const { name } = find(request).config;
      return page(reply, { title: `Remove ${name}`, at: 'overview', main: remove(name) });
    },
    async tool(request, reply) {
      const view = toolView(find(request), queryOf(request, 'name'), new Map(), redact);
      return page(reply, { title: view.name, at: 'overview', main: toolPage(view) });
    },
    async callTool(request, reply) {
      const server = find(request);
      const view = toolView(server, queryOf(request, 'name'), new Map(formOf(request)), redact);
      const principal = given.principalOf(request);
      const result = await tryTool(server, view, principal, given, hangUpOf(reply)).catch(
        (error: unknown) => {
          if (!(error instanceof HubError) || error.code !== 'HUB_REQUEST_INVALID') throw error;
          return { problem: redact(messageOf(error)) };
        },
      );
      if ('problem' in result) {
        const notice = failureNotice({ title: view.name, message: result.problem });
        if (isHtmx(request)) return part(reply, notice);
        return page(reply, { title: view.name, at: 'overview', main: toolPage(view), notice }, 400);
      }
      if (isHtmx(request)) return part(reply, toolResult(result));
      const main = toolPage({ ...view, result });
      return page(reply, { title: view.name, at: 'overview', main });
    },
  };
}
