import type { FastifyRequest } from 'fastify';
import { HubError } from '#core';
import { type InstallForm, emptyForm, install, paths } from '#dashboard';
import { fileOnly } from './actions.ts';
import type { Given } from './given.ts';
import { jobView } from './job-pages.ts';
import type { DashboardAnswers } from './needs.ts';
import { formOf } from './request.ts';

/** The install form. */
export function installPages(given: Given): Pick<DashboardAnswers, 'install' | 'beginInstall'> {
  const { page, redact, refuse } = given;
  const title = { title: 'Install', at: 'install', events: paths.events } as const;
  const { forms, jobs } = given;
  const views = () => jobs.list().map(job => jobView(job, jobs));

  return {
    async install(request, reply) {
      if (!forms) return refuse(request, reply, 409, fileOnly);
      return page(reply, { ...title, main: install(emptyForm, views(), undefined) });
    },
    async beginInstall(request, reply) {
      if (!forms) return refuse(request, reply, 409, fileOnly);
      const form = installFormOf(request);
      const confirm = formOf(request).getAll('confirm');
      try {
        const asked = await forms.review(form);
        const names = asked.map(({ name }) => name);
        if (names.every(name => confirm.includes(name))) {
          const id = forms.begin(form, names, given.principalOf(request).name);
          return reply.redirect(paths.job(id), 303);
        }
        const shown = asked.map(({ name, message }) => ({
          name,
          message: redact(message),
          isAgreed: confirm.includes(name),
        }));
        return page(reply, { ...title, main: install(form, views(), undefined, shown) }, 409);
      } catch (error) {
        if (!(error instanceof HubError) || error.code !== 'HUB_REQUEST_INVALID') throw error;
        const main = install(form, views(), redact(error.message));
        return page(reply, { ...title, main }, 400);
      }
    },
  };
}

function installFormOf(request: FastifyRequest): InstallForm {
  const form = formOf(request);
  const text = (name: keyof InstallForm) => form.get(name) ?? '';
  return {
    package: text('package'),
    name: text('name'),
    transport: text('transport'),
    network: text('network'),
    args: text('args'),
    env: text('env'),
  };
}
