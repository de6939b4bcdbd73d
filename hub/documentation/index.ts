export { type Documentation, createDocumentation } from './documentation.ts';
export type { DocumentationModels } from './model/describe-modules.ts';
export { documentationRequest, parseDocumentationRequest } from './request.ts';
