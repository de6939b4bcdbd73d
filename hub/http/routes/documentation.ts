import type { FastifyInstance } from 'fastify';
import { type Documentation, parseDocumentationRequest } from '#documentation';
import type { RouteAdmission } from '../admission.ts';
import { sameAs } from '../tool-policy.ts';

type Needs = {
  readonly documentation: Documentation;
  readonly admission: Pick<RouteAdmission, 'principalOf'>;
};

/**
 * Adds `POST /pipelines/documentation`. Every caller may name repositories and vaults below the folders of
 * `repositories` in the config; other folders need the owner's key.
 */
export function documentationRoutes(app: FastifyInstance, { documentation, admission }: Needs) {
  const tool = sameAs('documentation', 'document_repository', 'documentation_begun');
  app.post('/pipelines/documentation', tool, async (request, reply): Promise<unknown> => {
    const wanted = parseDocumentationRequest(request.body);
    const job = await documentation.begin(wanted, admission.principalOf(request));
    return await reply
      .code(202)
      .header('location', `/jobs/${job}`)
      .send({
        job_id: job,
        project_name: wanted.project_name,
        dry_run: wanted.dry_run,
        events: `/jobs/${job}/events`,
      });
  });
}
