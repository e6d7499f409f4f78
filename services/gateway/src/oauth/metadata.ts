/** What clients read first: RFC 9728 of the resource, and RFC 8414 of the authorization server. */

import { agentScopes } from '@datahub/contract/people/oauth';
import type { FastifyInstance } from 'fastify';
import { metadataPath, type OAuthSettings, resourceOf } from './settings.ts';

export function registerMetadata(app: FastifyInstance, settings: OAuthSettings): void {
  const { issuer, registration } = settings;
  const resource = {
    resource: resourceOf.mcp(settings),
    authorization_servers: [issuer],
    scopes_supported: agentScopes,
    bearer_methods_supported: ['header'],
    resource_name: 'Data Hub',
  };
  const methods = ['none', 'client_secret_basic', 'client_secret_post'];
  const server = {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    ...(registration ? { registration_endpoint: `${issuer}/oauth/register` } : {}),
    scopes_supported: agentScopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_methods_supported: methods,
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
  const documents = {
    [metadataPath]: resource,
    [`${metadataPath}/mcp`]: resource,
    '/.well-known/oauth-authorization-server': server,
  };
  for (const [path, document] of Object.entries(documents))
    app.get(path, async (_request, reply) => reply.header('cache-control', 'no-cache').send(document));
}
