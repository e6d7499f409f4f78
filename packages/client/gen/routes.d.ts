/** Generated from the routes of the gateway by `npm run build -w packages/client`. */

import type { Json } from '../dist/values.d.ts';

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: "VALIDATION" | "KEY_MISSING" | "KEY_INVALID" | "KEY_EXPIRED" | "TOKEN_INVALID" | "SCOPE_DENIED" | "CLAIM_MISSING" | "QUOTA_EXCEEDED" | "NOT_FOUND" | "METHOD_NOT_ALLOWED" | "NOT_ACCEPTABLE" | "UPLOAD_TOO_SLOW" | "CONFLICT" | "PATH_TAKEN" | "TOOL_NAME_TAKEN" | "CONSTRAINT" | "MAX_AFFECTED" | "ROWS_UNEXPECTED" | "ROLLBACK_INCOMPLETE" | "SOURCE_GONE" | "NOT_TRAINED" | "NOT_EMPTY" | "IDEMPOTENCY_CONFLICT" | "VERSION_CHANGED" | "VERSION_MISMATCH" | "TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "SQL_REJECTED" | "COMMAND_MISMATCH" | "CONTEXT_INVALID" | "OPTION_REFUSED" | "LIMIT_EXCEEDED" | "RESULT_TOO_LARGE" | "RESULT_TRUNCATED" | "KEY_NOT_UNIQUE" | "IDEMPOTENCY_MISMATCH" | "RATE_LIMITED" | "CANCELLED" | "INTERNAL" | "SOURCE_UNREACHABLE" | "SOURCE_AUTH" | "SOURCE_TLS" | "SOURCE_BROKEN" | "CONTRACT_BROKEN" | "SOURCE_BUSY" | "UNAVAILABLE" | "OUTCOME_UNKNOWN" | "STATEMENT_TIMEOUT";
  requestId: string;
  errors?: ({
    pointer?: string | undefined;
    detail?: string | undefined;
  })[] | undefined;
  stage?: "queue" | "connect" | "prepare" | "execute" | "stream" | undefined;
  retryable?: boolean | undefined;
  sql?: {
    state?: string | undefined;
    line?: number | undefined;
    column?: number | undefined;
    condition?: "UNIQUE_VIOLATION" | "FOREIGN_KEY_VIOLATION" | "NOT_NULL_VIOLATION" | "CHECK_VIOLATION" | "RAISED" | undefined;
    constraint?: string | undefined;
    schema?: string | undefined;
    table?: string | undefined;
    columnName?: string | undefined;
    dataType?: string | undefined;
    message?: string | undefined;
    hint?: string | undefined;
  } | undefined;
  version?: number | undefined;
  step?: number | undefined;
  line?: number | undefined;
  committedLines?: number | undefined;
}

export interface Node {
  hubId: string;
  nodeId: string;
  parentNodeId: string | null;
  nodeType: "root" | "category" | "folder" | "source" | "query";
  nodeSubType?: "queries" | "sources" | undefined;
  label: string;
  children: Node[];
  truncated?: true | undefined;
}

/** Every route: what it takes and what it answers. */
export interface Routes {
  /** Create a hub */
  'POST /v1/hubs': {
    body: {
      label: string;
      path?: string | null | undefined;
      /** Read-only: ignored. */
      hubId?: Json | undefined;
      /** Read-only: ignored. */
      archived?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
    };
    answer: {
      hubId: string;
      label: string;
      path?: string | undefined;
      archived: 0 | 1;
      createdAt: string;
      updatedAt: string | null;
    };
  };
  /** List hubs */
  'GET /v1/hubs': {
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
      archived?: "0" | "1" | "false" | "true" | undefined;
    } | undefined;
    answer: ({
      hubId: string;
      label: string;
      path?: string | undefined;
      archived: 0 | 1;
      createdAt: string;
      updatedAt: string | null;
    })[];
  };
  /** Get a hub */
  'GET /v1/hubs/{hubId}': {
    path: {
      hubId: string;
    };
    answer: {
      hubId: string;
      label: string;
      path?: string | undefined;
      archived: 0 | 1;
      createdAt: string;
      updatedAt: string | null;
    };
  };
  /** Rename a hub */
  'PUT /v1/hubs/{hubId}': {
    path: {
      hubId: string;
    };
    body: {
      label: string;
      path?: string | null | undefined;
      /** Read-only: ignored. */
      hubId?: Json | undefined;
      /** Read-only: ignored. */
      archived?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
    };
    answer: Record<string, never>;
  };
  /** Delete a hub */
  'DELETE /v1/hubs/{hubId}': {
    path: {
      hubId: string;
    };
    query?: {
      recursive?: "0" | "1" | "false" | "true" | undefined;
    } | undefined;
    answer: Record<string, never>;
  };
  /** Get the tree of a hub */
  'GET /v1/hubs/{hubId}/contents': {
    path: {
      hubId: string;
    };
    answer: {
      hubId: string;
      nodeId: string;
      parentNodeId: string | null;
      nodeType: "root" | "category" | "folder" | "source" | "query";
      nodeSubType?: "queries" | "sources" | undefined;
      label: string;
      children: Node[];
      truncated?: true | undefined;
    };
  };
  /** Archive a hub */
  'POST /v1/hubs/{hubId}/archive': {
    path: {
      hubId: string;
    };
    body?: Record<string, never> | undefined;
    answer: {
      hubId: string;
      label: string;
      path?: string | undefined;
      archived: 0 | 1;
      createdAt: string;
      updatedAt: string | null;
    };
  };
  /** Bring a hub back */
  'POST /v1/hubs/{hubId}/unarchive': {
    path: {
      hubId: string;
    };
    body?: Record<string, never> | undefined;
    answer: {
      hubId: string;
      label: string;
      path?: string | undefined;
      archived: 0 | 1;
      createdAt: string;
      updatedAt: string | null;
    };
  };
  /** Describe the queries of a hub in OpenAPI */
  'GET /v1/hubs/{hubId}/openapi.json': {
    path: {
      hubId: string;
    };
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
    } | undefined;
    answer: {
      openapi: string;
      info: Record<string, Json>;
      paths: Record<string, Json>;
      components: Record<string, Json>;
    };
  };
  /** Create a folder */
  'POST /v1/hubs/{hubId}/folders': {
    path: {
      hubId: string;
    };
    body: {
      label: string;
      parentNodeId?: string | undefined;
      /** Read-only: ignored. */
      hubId?: Json | undefined;
      /** Read-only: ignored. */
      nodeId?: Json | undefined;
      /** Read-only: ignored. */
      nodeType?: Json | undefined;
      /** Read-only: ignored. */
      nodeSubType?: Json | undefined;
      /** Read-only: ignored. */
      children?: Json | undefined;
    };
    answer: {
      hubId: string;
      nodeId: string;
      parentNodeId: string;
      nodeType: "folder";
      nodeSubType: string;
      label: string;
    };
  };
  /** Rename or move a folder */
  'PUT /v1/folders/{nodeId}': {
    path: {
      nodeId: string;
    };
    body: {
      label?: string | undefined;
      parentNodeId?: string | undefined;
      /** Read-only: ignored. */
      hubId?: Json | undefined;
      /** Read-only: ignored. */
      nodeId?: Json | undefined;
      /** Read-only: ignored. */
      nodeType?: Json | undefined;
      /** Read-only: ignored. */
      nodeSubType?: Json | undefined;
      /** Read-only: ignored. */
      children?: Json | undefined;
    };
    answer: {
      hubId: string;
      nodeId: string;
      parentNodeId: string;
      nodeType: "folder";
      nodeSubType: string;
      label: string;
    };
  };
  /** Delete an empty folder */
  'DELETE /v1/folders/{nodeId}': {
    path: {
      nodeId: string;
    };
    answer: Record<string, never>;
  };
  /** Create a source */
  'POST /v1/sources': {
    body: {
      hubId: string;
      label: string;
      engine: "postgres" | "mysql" | "mariadb" | "mongodb";
      driver?: null | undefined;
      connectionSettings: {
        host: string;
        port: number;
        database: string;
        user: string;
        password?: string | undefined;
        tls?: {
          mode?: "disable" | "prefer" | "require" | "verify-full" | undefined;
          ca?: string | null | undefined;
          cert?: string | null | undefined;
          key?: string | null | undefined;
        } | null | undefined;
        pool?: {
          max?: number | null | undefined;
          idleTimeoutMs?: number | null | undefined;
        } | null | undefined;
        statementTimeoutMs?: number | null | undefined;
        authSource?: string | null | undefined;
        hosts?: ({
          host: string;
          port: number;
        })[] | null | undefined;
        srv?: boolean | null | undefined;
        replicaSet?: string | null | undefined;
        readPreference?: "primary" | "primaryPreferred" | "secondary" | "secondaryPreferred" | "nearest" | null | undefined;
        authMechanism?: "SCRAM-SHA-1" | "SCRAM-SHA-256" | "MONGODB-X509" | "PLAIN" | null | undefined;
        pooling?: "session" | "transaction" | null | undefined;
        targetSessionAttrs?: "any" | "read-write" | "read-only" | "primary" | "standby" | "prefer-standby" | null | undefined;
        statementComments?: "on" | "off" | null | undefined;
        passwordFrom?: {
          kind: "aws-rds-iam";
          region: string;
        } | null | undefined;
        ssh?: {
          host?: string | undefined;
          port?: number | null | undefined;
          user?: string | undefined;
          hostKey?: string | undefined;
          privateKey?: string | null | undefined;
          password?: string | null | undefined;
        } | null | undefined;
        session?: {
          searchPath?: string | undefined;
          settings?: Record<string, {
              value?: string | undefined;
              claim?: string | undefined;
              claims?: true | undefined;
              variable?: string | undefined;
            }> | undefined;
          role?: string | {
            claim: string;
            among: string[];
          } | undefined;
        } | null | undefined;
      };
      parentNodeId?: string | undefined;
      /** Read-only: ignored. */
      sourceId?: Json | undefined;
      /** Read-only: ignored. */
      accountId?: Json | undefined;
      /** Read-only: ignored. */
      nodeId?: Json | undefined;
      /** Read-only: ignored. */
      nodeType?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
    };
    answer: {
      hubId: string;
      label: string;
      engine: "postgres" | "mysql" | "mariadb" | "mongodb";
      sourceId: string;
      nodeId: string;
      nodeType: "source";
      parentNodeId: string;
    };
  };
  /** List the sources of a hub */
  'GET /v1/sources': {
    query: {
      hubId: string;
      offset?: number | undefined;
      limit?: number | undefined;
    };
    answer: ({
      sourceId: string;
      hubId: string;
      label: string;
      engine: "postgres" | "mysql" | "mariadb" | "mongodb";
      connectionSettings: {
        host: string;
        port: number;
        database: string;
        /** A mask. */
        user: string;
        /** A mask. */
        password: string;
        tls?: {
          mode: string;
          ca?: string | undefined;
          cert?: string | undefined;
          key?: string | undefined;
        } | undefined;
        pool?: {
          max?: number | undefined;
          idleTimeoutMs?: number | undefined;
        } | undefined;
        statementTimeoutMs?: number | undefined;
        authSource?: string | undefined;
        hosts?: ({
          host: string;
          port: number;
        })[] | undefined;
        srv?: boolean | undefined;
        replicaSet?: string | undefined;
        readPreference?: string | undefined;
        authMechanism?: string | undefined;
        pooling?: string | undefined;
        targetSessionAttrs?: string | undefined;
        statementComments?: string | undefined;
        passwordFrom?: {
          kind: string;
          region: string;
        } | undefined;
        ssh?: {
          host: string;
          port: number;
          user: string;
          hostKey: string;
          /** A mask. */
          privateKey?: string | undefined;
          /** A mask. */
          password?: string | undefined;
        } | undefined;
        session?: {
          searchPath?: string | undefined;
          settings?: Record<string, {
              value?: string | undefined;
              claim?: string | undefined;
              claims?: true | undefined;
              variable?: string | undefined;
            }> | undefined;
          role?: string | {
            claim: string;
            among: string[];
          } | undefined;
        } | undefined;
      };
      createdAt: string;
      updatedAt: string | null;
      accountId: string;
      driver: null;
    })[];
  };
  /** Get a source */
  'GET /v1/sources/{sourceId}': {
    path: {
      sourceId: string;
    };
    answer: {
      sourceId: string;
      hubId: string;
      label: string;
      engine: "postgres" | "mysql" | "mariadb" | "mongodb";
      connectionSettings: {
        host: string;
        port: number;
        database: string;
        /** A mask. */
        user: string;
        /** A mask. */
        password: string;
        tls?: {
          mode: string;
          ca?: string | undefined;
          cert?: string | undefined;
          key?: string | undefined;
        } | undefined;
        pool?: {
          max?: number | undefined;
          idleTimeoutMs?: number | undefined;
        } | undefined;
        statementTimeoutMs?: number | undefined;
        authSource?: string | undefined;
        hosts?: ({
          host: string;
          port: number;
        })[] | undefined;
        srv?: boolean | undefined;
        replicaSet?: string | undefined;
        readPreference?: string | undefined;
        authMechanism?: string | undefined;
        pooling?: string | undefined;
        targetSessionAttrs?: string | undefined;
        statementComments?: string | undefined;
        passwordFrom?: {
          kind: string;
          region: string;
        } | undefined;
        ssh?: {
          host: string;
          port: number;
          user: string;
          hostKey: string;
          /** A mask. */
          privateKey?: string | undefined;
          /** A mask. */
          password?: string | undefined;
        } | undefined;
        session?: {
          searchPath?: string | undefined;
          settings?: Record<string, {
              value?: string | undefined;
              claim?: string | undefined;
              claims?: true | undefined;
              variable?: string | undefined;
            }> | undefined;
          role?: string | {
            claim: string;
            among: string[];
          } | undefined;
        } | undefined;
      };
      createdAt: string;
      updatedAt: string | null;
      nodeType: "source";
    };
  };
  /** Update a source */
  'PUT /v1/sources/{sourceId}': {
    path: {
      sourceId: string;
    };
    body: {
      label?: string | undefined;
      engine?: "postgres" | "mysql" | "mariadb" | "mongodb" | undefined;
      driver?: null | undefined;
      connectionSettings?: {
        host?: string | undefined;
        port?: number | undefined;
        database?: string | undefined;
        user?: string | undefined;
        password?: string | undefined;
        tls?: {
          mode?: "disable" | "prefer" | "require" | "verify-full" | undefined;
          ca?: string | null | undefined;
          cert?: string | null | undefined;
          key?: string | null | undefined;
        } | null | undefined;
        pool?: {
          max?: number | null | undefined;
          idleTimeoutMs?: number | null | undefined;
        } | null | undefined;
        statementTimeoutMs?: number | null | undefined;
        authSource?: string | null | undefined;
        hosts?: ({
          host: string;
          port: number;
        })[] | null | undefined;
        srv?: boolean | null | undefined;
        replicaSet?: string | null | undefined;
        readPreference?: "primary" | "primaryPreferred" | "secondary" | "secondaryPreferred" | "nearest" | null | undefined;
        authMechanism?: "SCRAM-SHA-1" | "SCRAM-SHA-256" | "MONGODB-X509" | "PLAIN" | null | undefined;
        pooling?: "session" | "transaction" | null | undefined;
        targetSessionAttrs?: "any" | "read-write" | "read-only" | "primary" | "standby" | "prefer-standby" | null | undefined;
        statementComments?: "on" | "off" | null | undefined;
        passwordFrom?: {
          kind: "aws-rds-iam";
          region: string;
        } | null | undefined;
        ssh?: {
          host?: string | undefined;
          port?: number | null | undefined;
          user?: string | undefined;
          hostKey?: string | undefined;
          privateKey?: string | null | undefined;
          password?: string | null | undefined;
        } | null | undefined;
        session?: {
          searchPath?: string | undefined;
          settings?: Record<string, {
              value?: string | undefined;
              claim?: string | undefined;
              claims?: true | undefined;
              variable?: string | undefined;
            }> | undefined;
          role?: string | {
            claim: string;
            among: string[];
          } | undefined;
        } | null | undefined;
      } | undefined;
      parentNodeId?: string | undefined;
      /** Read-only: ignored. */
      sourceId?: Json | undefined;
      /** Read-only: ignored. */
      accountId?: Json | undefined;
      /** Read-only: ignored. */
      hubId?: Json | undefined;
      /** Read-only: ignored. */
      nodeId?: Json | undefined;
      /** Read-only: ignored. */
      nodeType?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
    };
    answer: {
      sourceId: string;
      hubId: string;
      label: string;
      engine: "postgres" | "mysql" | "mariadb" | "mongodb";
      connectionSettings: {
        host: string;
        port: number;
        database: string;
        /** A mask. */
        user: string;
        /** A mask. */
        password: string;
        tls?: {
          mode: string;
          ca?: string | undefined;
          cert?: string | undefined;
          key?: string | undefined;
        } | undefined;
        pool?: {
          max?: number | undefined;
          idleTimeoutMs?: number | undefined;
        } | undefined;
        statementTimeoutMs?: number | undefined;
        authSource?: string | undefined;
        hosts?: ({
          host: string;
          port: number;
        })[] | undefined;
        srv?: boolean | undefined;
        replicaSet?: string | undefined;
        readPreference?: string | undefined;
        authMechanism?: string | undefined;
        pooling?: string | undefined;
        targetSessionAttrs?: string | undefined;
        statementComments?: string | undefined;
        passwordFrom?: {
          kind: string;
          region: string;
        } | undefined;
        ssh?: {
          host: string;
          port: number;
          user: string;
          hostKey: string;
          /** A mask. */
          privateKey?: string | undefined;
          /** A mask. */
          password?: string | undefined;
        } | undefined;
        session?: {
          searchPath?: string | undefined;
          settings?: Record<string, {
              value?: string | undefined;
              claim?: string | undefined;
              claims?: true | undefined;
              variable?: string | undefined;
            }> | undefined;
          role?: string | {
            claim: string;
            among: string[];
          } | undefined;
        } | undefined;
      };
      createdAt: string;
      updatedAt: string | null;
      nodeType: "source";
    };
  };
  /** Delete a source */
  'DELETE /v1/sources/{sourceId}': {
    path: {
      sourceId: string;
    };
    answer: Record<string, never>;
  };
  /** Connect to a source */
  'POST /v1/sources/{sourceId}/test': {
    path: {
      sourceId: string;
    };
    body?: Record<string, never> | undefined;
    answer: {
      ok: true;
      latencyMs: number;
      serverVersion: string;
      /** The value that connectionSettings.pooling should have; absent if the setting fits. */
      suggestedPooling?: string | undefined;
    };
  };
  /** Describe the queries of a source again */
  'POST /v1/sources/{sourceId}/check': {
    path: {
      sourceId: string;
    };
    body?: Record<string, never> | undefined;
    answer: {
      checked: number;
      broken: string[];
      left: number;
    };
  };
  /** Read the tables of a source */
  'GET /v1/sources/{sourceId}/schema': {
    path: {
      sourceId: string;
    };
    answer: {
      tables: ({
        schema: string;
        name: string;
        kind: string;
        columns: ({
          name: string;
          type: string;
          nullable?: boolean | undefined;
          comment?: string | undefined;
        })[];
        comment?: string | undefined;
        /** Of the database; absent if it has none. */
        rowEstimate?: number | undefined;
        primaryKey: string[];
        foreignKeys: ({
          columns: string[];
          schema: string;
          table: string;
          referencedColumns: string[];
        })[];
      })[];
      truncated?: true | undefined;
    };
  };
  /** Create a query */
  'POST /v1/queries': {
    query?: {
      signature?: "0" | "1" | "false" | "true" | undefined;
    } | undefined;
    body: {
      hubId: string;
      label: string;
      sourceId: string;
      query?: string | undefined;
      parentNodeId?: string | undefined;
      path?: string | null | undefined;
      command?: string | undefined;
      context?: ({
        key: string;
        value?: Json | undefined;
        type?: string | undefined;
        required?: boolean | undefined;
        enum?: Json[] | undefined;
        description?: string | undefined;
        secret?: boolean | undefined;
      })[] | null | undefined;
      cache?: {
        maxAgeS: number;
        staleS?: number | undefined;
        validate?: string | undefined;
      } | null | undefined;
      notNull?: string[] | null | undefined;
      errors?: "author" | null | undefined;
      session?: {
        searchPath?: string | undefined;
        settings?: Record<string, {
            value?: string | undefined;
            claim?: string | undefined;
            claims?: true | undefined;
            variable?: string | undefined;
          }> | undefined;
        role?: string | {
          claim: string;
          among: string[];
        } | undefined;
      } | null | undefined;
      keepValues?: boolean | null | undefined;
      tool?: {
        name?: string | undefined;
        description: string;
      } | null | undefined;
      presentation?: {
        chart?: Record<string, Json> | null | undefined;
        columns?: Record<string, Json> | Json[] | null | undefined;
        pinned?: boolean | Record<string, Json> | null | undefined;
      } | null | undefined;
      steps?: ({
        query: string;
        command?: string | undefined;
        as?: string | undefined;
        options?: {
          maxRows?: number | undefined;
          maxAffected?: number | undefined;
          expectRows?: number | undefined;
        } | undefined;
        references?: Record<string, {
            from: string;
            pointer: string;
          }> | undefined;
      })[] | null | undefined;
      isolation?: "read-committed" | "repeatable-read" | "serializable" | null | undefined;
      retry?: boolean | null | undefined;
      /** Read-only: ignored. */
      queryId?: Json | undefined;
      /** Read-only: ignored. */
      nodeId?: Json | undefined;
      /** Read-only: ignored. */
      nodeType?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
    };
    answer: {
      meta: {
        engine: "postgres" | "mysql" | "mariadb" | "mongodb";
        hubId: string;
        label: string;
        parentNodeId: string;
        path?: string | undefined;
      };
      config: {
        command: string;
        context: null;
        notNull?: string[] | undefined;
        errors?: "author" | undefined;
        session?: {
          searchPath?: string | undefined;
          settings?: Record<string, {
              value?: string | undefined;
              claim?: string | undefined;
              claims?: true | undefined;
              variable?: string | undefined;
            }> | undefined;
          role?: string | {
            claim: string;
            among: string[];
          } | undefined;
        } | undefined;
        steps?: ({
          query: string;
          command?: string | undefined;
          as?: string | undefined;
          options?: {
            maxRows?: number | undefined;
            maxAffected?: number | undefined;
            expectRows?: number | undefined;
          } | undefined;
          references?: Record<string, {
              from: string;
              pointer: string;
            }> | undefined;
        })[] | undefined;
        isolation?: "read-committed" | "repeatable-read" | "serializable" | undefined;
        retry?: boolean | undefined;
        keepValues?: boolean | undefined;
        cache?: {
          maxAgeS: number;
          staleS?: number | undefined;
          validate?: string | undefined;
        } | undefined;
        query: {
          queryId: string;
          query: string;
        };
        source: {
          sourceId: string;
          engine: "postgres" | "mysql" | "mariadb" | "mongodb";
        };
        tool?: {
          name?: string | undefined;
          description: string;
        } | undefined;
        presentation?: Record<string, Json> | undefined;
      };
      signature?: {
        columns: ({
          name: string;
          type: string;
          nullable: boolean;
          jsonType: "number" | "string" | "number|string" | "boolean" | "object" | "array" | "number|string|boolean|object|array";
          labels?: string[] | undefined;
        })[];
        variables: ({
          key: string;
          type?: string | undefined;
          list: boolean;
          nullable: boolean;
          labels?: string[] | undefined;
        })[];
        problem?: {
          code: string;
          detail: string;
          sql?: {
            state?: string | undefined;
            line?: number | undefined;
            column?: number | undefined;
          } | undefined;
        } | undefined;
        checkedAt: string;
        version: number;
      } | undefined;
      warnings?: ({
        code: string;
        detail: string;
        sql: {
          state?: string | undefined;
          line?: number | undefined;
          column?: number | undefined;
        };
      })[] | undefined;
    };
  };
  /** List the queries of a hub */
  'GET /v1/queries': {
    query: {
      hubId: string;
      offset?: number | undefined;
      limit?: number | undefined;
      state?: "broken" | undefined;
      signature?: "0" | "1" | "false" | "true" | undefined;
      latest?: string | undefined;
      stats?: string | undefined;
    };
    answer: ({
      meta: {
        engine: "postgres" | "mysql" | "mariadb" | "mongodb";
        hubId: string;
        label: string;
        parentNodeId: string;
        path?: string | undefined;
      };
      config: {
        command: string;
        context: ({
          key: string;
          value?: Json | undefined;
          type?: string | undefined;
          required?: boolean | undefined;
          enum?: Json[] | undefined;
          description?: string | undefined;
          secret?: boolean | undefined;
        })[];
        notNull?: string[] | undefined;
        errors?: "author" | undefined;
        session?: {
          searchPath?: string | undefined;
          settings?: Record<string, {
              value?: string | undefined;
              claim?: string | undefined;
              claims?: true | undefined;
              variable?: string | undefined;
            }> | undefined;
          role?: string | {
            claim: string;
            among: string[];
          } | undefined;
        } | undefined;
        steps?: ({
          query: string;
          command?: string | undefined;
          as?: string | undefined;
          options?: {
            maxRows?: number | undefined;
            maxAffected?: number | undefined;
            expectRows?: number | undefined;
          } | undefined;
          references?: Record<string, {
              from: string;
              pointer: string;
            }> | undefined;
        })[] | undefined;
        isolation?: "read-committed" | "repeatable-read" | "serializable" | undefined;
        retry?: boolean | undefined;
        keepValues?: boolean | undefined;
        cache?: {
          maxAgeS: number;
          staleS?: number | undefined;
          validate?: string | undefined;
        } | undefined;
        query: {
          queryId: string;
          query: string;
        };
        source: {
          sourceId: string;
          engine: "postgres" | "mysql" | "mariadb" | "mongodb";
        };
        tool?: {
          name?: string | undefined;
          description: string;
        } | undefined;
        presentation?: Record<string, Json> | undefined;
      };
      state?: "broken" | undefined;
      problem?: {
        code: string;
        detail: string;
        sql?: {
          state?: string | undefined;
          line?: number | undefined;
          column?: number | undefined;
        } | undefined;
      } | undefined;
      drift?: ({
        name: string;
        change: "added" | "removed" | "changed";
        from?: Record<string, Json> | undefined;
        to?: Record<string, Json> | undefined;
      })[] | undefined;
      signature?: {
        columns: ({
          name: string;
          type: string;
          nullable: boolean;
          jsonType: "number" | "string" | "number|string" | "boolean" | "object" | "array" | "number|string|boolean|object|array";
          labels?: string[] | undefined;
        })[];
        variables: ({
          key: string;
          type?: string | undefined;
          list: boolean;
          nullable: boolean;
          labels?: string[] | undefined;
        })[];
        problem?: {
          code: string;
          detail: string;
          sql?: {
            state?: string | undefined;
            line?: number | undefined;
            column?: number | undefined;
          } | undefined;
        } | undefined;
        checkedAt: string;
        version: number;
      } | null | undefined;
      latest?: {
        number: number;
        at: string;
        keyId: string | null;
      } | undefined;
      stats?: {
        sinceStart: {
          count: number;
          failed: number;
          totalMs: {
            p50: number;
            p95: number;
            p99: number;
          } | null;
        };
        lastHour: {
          count: number;
          failed: number;
          totalMs: {
            p50: number;
            p95: number;
            p99: number;
          } | null;
        };
      } | undefined;
    })[];
  };
  /** Get a query */
  'GET /v1/queries/{queryId}': {
    path: {
      queryId: string;
    };
    query?: {
      signature?: "0" | "1" | "false" | "true" | undefined;
      latest?: string | undefined;
    } | undefined;
    answer: {
      meta: {
        engine: "postgres" | "mysql" | "mariadb" | "mongodb";
        hubId: string;
        label: string;
        parentNodeId: string;
        path?: string | undefined;
      };
      config: {
        command: string;
        context: ({
          key: string;
          value?: Json | undefined;
          type?: string | undefined;
          required?: boolean | undefined;
          enum?: Json[] | undefined;
          description?: string | undefined;
          secret?: boolean | undefined;
        })[];
        notNull?: string[] | undefined;
        errors?: "author" | undefined;
        session?: {
          searchPath?: string | undefined;
          settings?: Record<string, {
              value?: string | undefined;
              claim?: string | undefined;
              claims?: true | undefined;
              variable?: string | undefined;
            }> | undefined;
          role?: string | {
            claim: string;
            among: string[];
          } | undefined;
        } | undefined;
        steps?: ({
          query: string;
          command?: string | undefined;
          as?: string | undefined;
          options?: {
            maxRows?: number | undefined;
            maxAffected?: number | undefined;
            expectRows?: number | undefined;
          } | undefined;
          references?: Record<string, {
              from: string;
              pointer: string;
            }> | undefined;
        })[] | undefined;
        isolation?: "read-committed" | "repeatable-read" | "serializable" | undefined;
        retry?: boolean | undefined;
        keepValues?: boolean | undefined;
        cache?: {
          maxAgeS: number;
          staleS?: number | undefined;
          validate?: string | undefined;
        } | undefined;
        query: {
          queryId: string;
          query: string;
        };
        source: {
          sourceId: string;
          engine: "postgres" | "mysql" | "mariadb" | "mongodb";
        };
        tool?: {
          name?: string | undefined;
          description: string;
        } | undefined;
        presentation?: Record<string, Json> | undefined;
      };
      state?: "broken" | undefined;
      problem?: {
        code: string;
        detail: string;
        sql?: {
          state?: string | undefined;
          line?: number | undefined;
          column?: number | undefined;
        } | undefined;
      } | undefined;
      drift?: ({
        name: string;
        change: "added" | "removed" | "changed";
        from?: Record<string, Json> | undefined;
        to?: Record<string, Json> | undefined;
      })[] | undefined;
      signature?: {
        columns: ({
          name: string;
          type: string;
          nullable: boolean;
          jsonType: "number" | "string" | "number|string" | "boolean" | "object" | "array" | "number|string|boolean|object|array";
          labels?: string[] | undefined;
        })[];
        variables: ({
          key: string;
          type?: string | undefined;
          list: boolean;
          nullable: boolean;
          labels?: string[] | undefined;
        })[];
        problem?: {
          code: string;
          detail: string;
          sql?: {
            state?: string | undefined;
            line?: number | undefined;
            column?: number | undefined;
          } | undefined;
        } | undefined;
        checkedAt: string;
        version: number;
      } | null | undefined;
      latest?: {
        number: number;
        at: string;
        keyId: string | null;
      } | undefined;
    };
  };
  /** Update a query */
  'PUT /v1/queries/{queryId}': {
    path: {
      queryId: string;
    };
    query?: {
      signature?: "0" | "1" | "false" | "true" | undefined;
    } | undefined;
    body: {
      meta?: {
        label?: string | undefined;
        parentNodeId?: string | undefined;
        hubId?: string | undefined;
        path?: string | null | undefined;
        /** Read-only: ignored. */
        engine?: Json | undefined;
      } | undefined;
      config?: {
        command?: string | undefined;
        context?: ({
          key: string;
          value?: Json | undefined;
          type?: string | undefined;
          required?: boolean | undefined;
          enum?: Json[] | undefined;
          description?: string | undefined;
          secret?: boolean | undefined;
        })[] | null | undefined;
        cache?: {
          maxAgeS: number;
          staleS?: number | undefined;
          validate?: string | undefined;
        } | null | undefined;
        notNull?: string[] | null | undefined;
        errors?: "author" | null | undefined;
        session?: {
          searchPath?: string | undefined;
          settings?: Record<string, {
              value?: string | undefined;
              claim?: string | undefined;
              claims?: true | undefined;
              variable?: string | undefined;
            }> | undefined;
          role?: string | {
            claim: string;
            among: string[];
          } | undefined;
        } | null | undefined;
        keepValues?: boolean | null | undefined;
        tool?: {
          name?: string | undefined;
          description: string;
        } | null | undefined;
        presentation?: {
          chart?: Record<string, Json> | null | undefined;
          columns?: Record<string, Json> | Json[] | null | undefined;
          pinned?: boolean | Record<string, Json> | null | undefined;
        } | null | undefined;
        steps?: ({
          query: string;
          command?: string | undefined;
          as?: string | undefined;
          options?: {
            maxRows?: number | undefined;
            maxAffected?: number | undefined;
            expectRows?: number | undefined;
          } | undefined;
          references?: Record<string, {
              from: string;
              pointer: string;
            }> | undefined;
        })[] | null | undefined;
        isolation?: "read-committed" | "repeatable-read" | "serializable" | null | undefined;
        retry?: boolean | null | undefined;
        query?: {
          query?: string | undefined;
          /** Read-only: ignored. */
          queryId?: Json | undefined;
        } | undefined;
        source?: {
          sourceId?: string | undefined;
          /** Read-only: ignored. */
          engine?: Json | undefined;
        } | undefined;
      } | undefined;
      /** Read-only: ignored. */
      signature?: Json | undefined;
      /** Read-only: ignored. */
      state?: Json | undefined;
      /** Read-only: ignored. */
      problem?: Json | undefined;
      /** Read-only: ignored. */
      drift?: Json | undefined;
      /** Read-only: ignored. */
      latest?: Json | undefined;
      /** Read-only: ignored. */
      stats?: Json | undefined;
      /** Read-only: ignored. */
      queryId?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
    };
    answer: {
      signature?: {
        columns: ({
          name: string;
          type: string;
          nullable: boolean;
          jsonType: "number" | "string" | "number|string" | "boolean" | "object" | "array" | "number|string|boolean|object|array";
          labels?: string[] | undefined;
        })[];
        variables: ({
          key: string;
          type?: string | undefined;
          list: boolean;
          nullable: boolean;
          labels?: string[] | undefined;
        })[];
        problem?: {
          code: string;
          detail: string;
          sql?: {
            state?: string | undefined;
            line?: number | undefined;
            column?: number | undefined;
          } | undefined;
        } | undefined;
        checkedAt: string;
        version: number;
      } | undefined;
      warnings?: ({
        code: string;
        detail: string;
        sql: {
          state?: string | undefined;
          line?: number | undefined;
          column?: number | undefined;
        };
      })[] | undefined;
    };
  };
  /** Delete a query */
  'DELETE /v1/queries/{queryId}': {
    path: {
      queryId: string;
    };
    answer: Record<string, never>;
  };
  /** Execute a query */
  'POST /v1/queries/execute': {
    body: {
      queryId?: string | undefined;
      hubId?: string | undefined;
      path?: string | undefined;
      context?: Record<string, Json> | null | undefined;
      options?: {
        timeoutMs?: number | undefined;
        maxRows?: number | undefined;
        maxAffected?: number | undefined;
        dryRun?: boolean | undefined;
        meta?: boolean | undefined;
        numbers?: "auto" | "string" | "number" | undefined;
        strict?: boolean | undefined;
        ending?: boolean | undefined;
        csv?: {
          bom?: boolean | undefined;
          delimiter?: "," | ";" | "\t" | undefined;
          decimal?: "." | "," | undefined;
        } | undefined;
        results?: "first" | "all" | undefined;
        version?: number | undefined;
        reads?: boolean | undefined;
        annotate?: ({
          classifier: string;
          text: string;
          as: string;
        })[] | undefined;
      } | undefined;
    };
    answer: {
      data: (Record<string, Json>)[];
      truncated?: true | undefined;
      /** The procedure returned further results. */
      moreResults?: true | undefined;
      meta?: {
        columns: ({
          name: string;
          type: string;
        })[];
        rowCount: number;
        durationMs: number;
        queueMs: number;
        /** The answer to COMMIT was lost, and the source said later that it has committed. */
        recovered?: true | undefined;
      } | undefined;
    } | {
      results: ({
        columns: ({
          name: string;
          type: string;
        })[];
        rows: (Record<string, Json>)[];
      })[];
      truncated?: true | undefined;
      meta?: {
        rowCount: number;
        durationMs: number;
        queueMs: number;
        /** The answer to COMMIT was lost, and the source said later that it has committed. */
        recovered?: true | undefined;
      } | undefined;
    };
  };
  /** Execute a query that reads */
  'GET /v1/queries/{queryId}/data': {
    path: {
      queryId: string;
    };
    query?: {
      "options.maxRows"?: number | undefined;
      "options.numbers"?: "auto" | "string" | "number" | undefined;
      "options.meta"?: "0" | "1" | "false" | "true" | undefined;
      "options.ending"?: string | undefined;
      "options.csv.bom"?: "0" | "1" | "false" | "true" | undefined;
      "options.csv.delimiter"?: "," | ";" | "\t" | undefined;
      "options.csv.decimal"?: "." | "," | undefined;
      "options.version"?: number | undefined;
      variables?: Record<string, string | string[]> | undefined;
    } | undefined;
    answer: {
      data: (Record<string, Json>)[];
      truncated?: true | undefined;
      /** The procedure returned further results. */
      moreResults?: true | undefined;
      meta?: {
        columns: ({
          name: string;
          type: string;
        })[];
        rowCount: number;
        durationMs: number;
        queueMs: number;
        /** The answer to COMMIT was lost, and the source said later that it has committed. */
        recovered?: true | undefined;
      } | undefined;
    };
  };
  /** Execute a query that reads, by its path */
  'GET /v1/hubs/{hubId}/data/{path}': {
    path: {
      hubId: string;
      path: string;
    };
    query?: {
      "options.maxRows"?: number | undefined;
      "options.numbers"?: "auto" | "string" | "number" | undefined;
      "options.meta"?: "0" | "1" | "false" | "true" | undefined;
      "options.ending"?: string | undefined;
      "options.csv.bom"?: "0" | "1" | "false" | "true" | undefined;
      "options.csv.delimiter"?: "," | ";" | "\t" | undefined;
      "options.csv.decimal"?: "." | "," | undefined;
      "options.version"?: number | undefined;
      variables?: Record<string, string | string[]> | undefined;
    } | undefined;
    answer: {
      data: (Record<string, Json>)[];
      truncated?: true | undefined;
      /** The procedure returned further results. */
      moreResults?: true | undefined;
      meta?: {
        columns: ({
          name: string;
          type: string;
        })[];
        rowCount: number;
        durationMs: number;
        queueMs: number;
        /** The answer to COMMIT was lost, and the source said later that it has committed. */
        recovered?: true | undefined;
      } | undefined;
    };
  };
  /** Execute several queries that read */
  'POST /v1/queries/data': {
    body: {
      executions: ({
        queryId?: string | undefined;
        hubId?: string | undefined;
        path?: string | undefined;
        values?: Record<string, string | number | boolean | (string | number | boolean)[]> | undefined;
        options?: {
          maxRows?: number | undefined;
          numbers?: "auto" | "string" | "number" | undefined;
          meta?: boolean | undefined;
          version?: number | undefined;
        } | undefined;
      })[];
    };
    answer: {
      executions: ({
        index: number;
        status: number;
        headers: Record<string, string>;
        limit?: "key" | "request" | "hub" | undefined;
        body: {
          data: (Record<string, Json>)[];
          truncated?: true | undefined;
          /** The procedure returned further results. */
          moreResults?: true | undefined;
          meta?: {
            columns: ({
              name: string;
              type: string;
            })[];
            rowCount: number;
            durationMs: number;
            queueMs: number;
            /** The answer to COMMIT was lost, and the source said later that it has committed. */
            recovered?: true | undefined;
          } | undefined;
        } | Problem;
      })[];
    };
  };
  /** Check a query that is not stored */
  'POST /v1/queries/check': {
    body: {
      sourceId: string;
      query?: string | undefined;
      command?: string | undefined;
      context?: ({
        key: string;
        value?: Json | undefined;
        type?: string | undefined;
        required?: boolean | undefined;
        enum?: Json[] | undefined;
        description?: string | undefined;
        secret?: boolean | undefined;
      })[] | null | undefined;
      notNull?: string[] | null | undefined;
      session?: {
        searchPath?: string | undefined;
        settings?: Record<string, {
            value?: string | undefined;
            claim?: string | undefined;
            claims?: true | undefined;
            variable?: string | undefined;
          }> | undefined;
        role?: string | {
          claim: string;
          among: string[];
        } | undefined;
      } | null | undefined;
      compareTo?: string | undefined;
      steps?: ({
        query: string;
        command?: string | undefined;
        as?: string | undefined;
        options?: {
          maxRows?: number | undefined;
          maxAffected?: number | undefined;
          expectRows?: number | undefined;
        } | undefined;
        references?: Record<string, {
            from: string;
            pointer: string;
          }> | undefined;
      })[] | null | undefined;
      isolation?: "read-committed" | "repeatable-read" | "serializable" | null | undefined;
      retry?: boolean | null | undefined;
      diff?: boolean | undefined;
      values?: Record<string, Json> | null | undefined;
    };
    answer: {
      signature: {
        columns: ({
          name: string;
          type: string;
          nullable: boolean;
          jsonType: "number" | "string" | "number|string" | "boolean" | "object" | "array" | "number|string|boolean|object|array";
          labels?: string[] | undefined;
        })[];
        variables: ({
          key: string;
          type?: string | undefined;
          list: boolean;
          nullable: boolean;
          labels?: string[] | undefined;
        })[];
        problem?: {
          code: string;
          detail: string;
          sql?: {
            state?: string | undefined;
            line?: number | undefined;
            column?: number | undefined;
          } | undefined;
        } | undefined;
        checkedAt: string;
        version: number;
      } | null;
      problems: ({
        severity: "error" | "warning";
        code: string;
        detail: string;
        sql?: {
          state?: string | undefined;
          line?: number | undefined;
          column?: number | undefined;
        } | undefined;
      })[];
      changes?: ({
        kind: "column" | "variable";
        name: string;
        change: "added" | "removed" | "changed";
        breaking: boolean;
        member?: "type" | "jsonType" | "nullable" | "list" | "required" | "enum" | "secret" | undefined;
        from?: string | undefined;
        to?: string | undefined;
      })[] | undefined;
      diff?: {
        added: number;
        removed: number;
        changed: number;
        unchanged: number;
        samples: ({
          kind: "added" | "removed" | "changed";
          before?: Record<string, Json> | undefined;
          after?: Record<string, Json> | undefined;
        })[];
      } | undefined;
    };
  };
  /** Execute or explain a query that is not stored */
  'POST /v1/queries/try': {
    body: {
      sourceId: string;
      query: string;
      command?: string | undefined;
      context?: ({
        key: string;
        value?: Json | undefined;
        type?: string | undefined;
        required?: boolean | undefined;
        enum?: Json[] | undefined;
        description?: string | undefined;
        secret?: boolean | undefined;
      })[] | null | undefined;
      notNull?: string[] | null | undefined;
      errors?: "author" | null | undefined;
      session?: {
        searchPath?: string | undefined;
        settings?: Record<string, {
            value?: string | undefined;
            claim?: string | undefined;
            claims?: true | undefined;
            variable?: string | undefined;
          }> | undefined;
        role?: string | {
          claim: string;
          among: string[];
        } | undefined;
      } | null | undefined;
      values?: Record<string, Json> | null | undefined;
      options?: {
        timeoutMs?: number | undefined;
        maxRows?: number | undefined;
        maxAffected?: number | undefined;
        dryRun?: boolean | undefined;
        meta?: boolean | undefined;
        numbers?: "auto" | "string" | "number" | undefined;
        strict?: boolean | undefined;
        ending?: boolean | undefined;
        csv?: {
          bom?: boolean | undefined;
          delimiter?: "," | ";" | "\t" | undefined;
          decimal?: "." | "," | undefined;
        } | undefined;
        explain?: boolean | undefined;
        analyze?: boolean | undefined;
      } | undefined;
    };
    answer: {
      data?: (Record<string, Json>)[] | undefined;
      truncated?: true | undefined;
      /** The procedure returned further results. */
      moreResults?: true | undefined;
      meta?: {
        columns: ({
          name: string;
          type: string;
        })[];
        rowCount: number;
        durationMs: number;
        queueMs: number;
        /** The answer to COMMIT was lost, and the source said later that it has committed. */
        recovered?: true | undefined;
      } | undefined;
      plan?: Json | undefined;
    };
  };
  /** Execute several queries in one transaction */
  'POST /v1/queries/transaction': {
    body: {
      steps: ({
        queryId?: string | undefined;
        hubId?: string | undefined;
        path?: string | undefined;
        context?: Record<string, Json> | null | undefined;
        options?: {
          maxRows?: number | undefined;
          maxAffected?: number | undefined;
          numbers?: "auto" | "string" | "number" | undefined;
          strict?: boolean | undefined;
          version?: number | undefined;
          expectRows?: number | undefined;
        } | undefined;
        as?: string | undefined;
        references?: Record<string, {
            from: string;
            pointer: string;
          }> | undefined;
      })[];
      isolation?: "read-committed" | "repeatable-read" | "serializable" | undefined;
      retry?: boolean | undefined;
      options?: {
        timeoutMs?: number | undefined;
        dryRun?: boolean | undefined;
      } | undefined;
    };
    answer: {
      steps: ({
        as?: string | undefined;
        data: (Record<string, Json>)[];
        truncated?: true | undefined;
      })[];
      meta: {
        attempts: number;
        recovered?: true | undefined;
      };
    };
  };
  /** Execute a query that writes for each record */
  'POST /v1/queries/{queryId}/rows': {
    path: {
      queryId: string;
    };
    query?: {
      commitEvery?: number | undefined;
      from?: number | undefined;
    } | undefined;
    answer: {
      records: number;
      affectedRows: number;
      committedLines: number;
      recovered?: true | undefined;
    };
  };
  /** List the versions of a query */
  'GET /v1/queries/{queryId}/versions': {
    path: {
      queryId: string;
    };
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
    } | undefined;
    answer: ({
      number: number;
      at: string;
      keyId: string | null;
      restoredFrom?: number | undefined;
      label: string;
      text: string;
      sourceId: string;
      engine: "postgres" | "mysql" | "mariadb" | "mongodb";
      command: string;
      context: ({
        key: string;
        value?: Json | undefined;
        type?: string | undefined;
        required?: boolean | undefined;
        enum?: Json[] | undefined;
        description?: string | undefined;
        secret?: boolean | undefined;
      })[];
      notNull?: string[] | undefined;
      errors?: "author" | undefined;
      session?: {
        searchPath?: string | undefined;
        settings?: Record<string, {
            value?: string | undefined;
            claim?: string | undefined;
            claims?: true | undefined;
            variable?: string | undefined;
          }> | undefined;
        role?: string | {
          claim: string;
          among: string[];
        } | undefined;
      } | undefined;
      steps?: ({
        query: string;
        command?: string | undefined;
        as?: string | undefined;
        options?: {
          maxRows?: number | undefined;
          maxAffected?: number | undefined;
          expectRows?: number | undefined;
        } | undefined;
        references?: Record<string, {
            from: string;
            pointer: string;
          }> | undefined;
      })[] | undefined;
      isolation?: "read-committed" | "repeatable-read" | "serializable" | undefined;
      retry?: boolean | undefined;
      keepValues?: boolean | undefined;
      cache?: {
        maxAgeS: number;
        staleS?: number | undefined;
        validate?: string | undefined;
      } | undefined;
    })[];
  };
  /** Restore a version of a query */
  'POST /v1/queries/{queryId}/restore': {
    path: {
      queryId: string;
    };
    query?: {
      signature?: "0" | "1" | "false" | "true" | undefined;
    } | undefined;
    body: {
      version: number;
    };
    answer: {
      signature?: {
        columns: ({
          name: string;
          type: string;
          nullable: boolean;
          jsonType: "number" | "string" | "number|string" | "boolean" | "object" | "array" | "number|string|boolean|object|array";
          labels?: string[] | undefined;
        })[];
        variables: ({
          key: string;
          type?: string | undefined;
          list: boolean;
          nullable: boolean;
          labels?: string[] | undefined;
        })[];
        problem?: {
          code: string;
          detail: string;
          sql?: {
            state?: string | undefined;
            line?: number | undefined;
            column?: number | undefined;
          } | undefined;
        } | undefined;
        checkedAt: string;
        version: number;
      } | undefined;
      warnings?: ({
        code: string;
        detail: string;
        sql: {
          state?: string | undefined;
          line?: number | undefined;
          column?: number | undefined;
        };
      })[] | undefined;
    };
  };
  /** Get the statistics of a query */
  'GET /v1/queries/{queryId}/stats': {
    path: {
      queryId: string;
    };
    answer: {
      queryId: string;
      sinceStart: {
        count: number;
        consoleCount: number;
        failed: number;
        errors: ({
          code: string;
          count: number;
        })[];
        cacheHits: number;
        rows: number;
        bytes: number;
        queueMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
        databaseMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
        totalMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
      };
      lastHour: {
        count: number;
        consoleCount: number;
        failed: number;
        errors: ({
          code: string;
          count: number;
        })[];
        cacheHits: number;
        rows: number;
        bytes: number;
        queueMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
        databaseMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
        totalMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
      };
      windows: ({
        start: string;
        count: number;
        failed: number;
        totalMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
      })[];
      versions: ({
        version: number;
        cacheHits: number;
        databaseMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
        count: number;
        failed: number;
        totalMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
      })[];
      executors: ({
        name: string;
        since: string;
        dropped: number;
      })[];
      missing: string[];
    };
  };
  /** Get the statistics of the queries that were tried on a source */
  'GET /v1/sources/{sourceId}/stats': {
    path: {
      sourceId: string;
    };
    answer: {
      sourceId: string;
      sinceStart: {
        count: number;
        consoleCount: number;
        failed: number;
        errors: ({
          code: string;
          count: number;
        })[];
        cacheHits: number;
        rows: number;
        bytes: number;
        queueMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
        databaseMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
        totalMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
      };
      lastHour: {
        count: number;
        consoleCount: number;
        failed: number;
        errors: ({
          code: string;
          count: number;
        })[];
        cacheHits: number;
        rows: number;
        bytes: number;
        queueMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
        databaseMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
        totalMs: {
          p50: number;
          p95: number;
          p99: number;
        } | null;
      };
      executors: ({
        name: string;
        since: string;
        dropped: number;
      })[];
      missing: string[];
    };
  };
  /** Count the executions of a query by key and day */
  'GET /v1/queries/{queryId}/usage': {
    path: {
      queryId: string;
    };
    answer: {
      queryId: string;
      from: string;
      to: string;
      count: number;
      failed: number;
      /** An estimate of the number of signed-in users. */
      users: number;
      totalKeys: number;
      keys: ({
        keyId: string;
        name?: string | null | undefined;
        count: number;
        failed: number;
        /** An estimate of the number of signed-in users. */
        users: number;
        days: ({
          day: string;
          count: number;
          failed: number;
        })[];
      })[];
    };
  };
  /** List the slowest or most failing queries */
  'GET /v1/stats': {
    query?: {
      sort?: "p99" | "errors" | "rows" | undefined;
      window?: "lastHour" | "sinceStart" | undefined;
      limit?: number | undefined;
    } | undefined;
    answer: {
      sort: "p99" | "errors" | "rows";
      window: "lastHour" | "sinceStart";
      queries: ({
        queryId: string;
        hubId: string;
        label: string;
        sinceStart: {
          count: number;
          consoleCount: number;
          failed: number;
          errors: ({
            code: string;
            count: number;
          })[];
          cacheHits: number;
          rows: number;
          bytes: number;
          queueMs: {
            p50: number;
            p95: number;
            p99: number;
          } | null;
          databaseMs: {
            p50: number;
            p95: number;
            p99: number;
          } | null;
          totalMs: {
            p50: number;
            p95: number;
            p99: number;
          } | null;
        };
        lastHour: {
          count: number;
          consoleCount: number;
          failed: number;
          errors: ({
            code: string;
            count: number;
          })[];
          cacheHits: number;
          rows: number;
          bytes: number;
          queueMs: {
            p50: number;
            p95: number;
            p99: number;
          } | null;
          databaseMs: {
            p50: number;
            p95: number;
            p99: number;
          } | null;
          totalMs: {
            p50: number;
            p95: number;
            p99: number;
          } | null;
        };
      })[];
      executors: ({
        name: string;
        since: string;
        dropped: number;
      })[];
      missing: string[];
    };
  };
  /** List the runs of a query, newest first */
  'GET /v1/queries/{queryId}/runs': {
    path: {
      queryId: string;
    };
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
      outcome?: "ok" | "failed" | undefined;
      own?: "0" | "1" | "false" | "true" | undefined;
    } | undefined;
    answer: ({
      runId: string;
      at: string;
      keyId: string;
      keyName: string | null;
      user: string | null;
      version: number;
      form: "execute" | "data" | "rows" | "transaction" | "tool" | "watch" | "job" | "console";
      outcome: "ok" | "failed";
      code: string | null;
      rows: number;
      cached: boolean;
      dryRun: boolean;
      queueMs: number | null;
      databaseMs: number | null;
      totalMs: number | null;
      values: Record<string, Json> | null;
    })[];
  };
  /** Create a classifier */
  'POST /v1/classifiers': {
    body?: {
      name?: string | null | undefined;
      /** Read-only: ignored. */
      classifierId?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
      /** Read-only: ignored. */
      classes?: Json | undefined;
    } | undefined;
    answer: {
      id: string;
    };
  };
  /** List classifiers */
  'GET /v1/classifiers': {
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
    } | undefined;
    answer: ({
      classifierId: string;
      name: string;
      createdAt: string;
      updatedAt: string | null;
    })[];
  };
  /** Get a classifier */
  'GET /v1/classifiers/{classifierId}': {
    path: {
      classifierId: string;
    };
    answer: {
      classifierId: string;
      name: string;
      createdAt: string;
      updatedAt: string | null;
      classes: ({
        classId: string;
        label: string;
        observations: number;
      })[];
    };
  };
  /** Rename a classifier */
  'PUT /v1/classifiers/{classifierId}': {
    path: {
      classifierId: string;
    };
    body: {
      name: string;
      /** Read-only: ignored. */
      classifierId?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
      /** Read-only: ignored. */
      classes?: Json | undefined;
    };
    answer: Record<string, never>;
  };
  /** Delete a classifier */
  'DELETE /v1/classifiers/{classifierId}': {
    path: {
      classifierId: string;
    };
    answer: Record<string, never>;
  };
  /** Train with examples */
  'POST /v1/classifiers/{classifierId}/train': {
    path: {
      classifierId: string;
    };
    query?: {
      text?: string | undefined;
      label?: string | undefined;
    } | undefined;
    body: {
      label?: string | undefined;
      context?: string | undefined;
      examples?: ({
        label: string;
        context: string;
      })[] | undefined;
    } | {
      queryId: string;
      context?: Record<string, Json> | null | undefined;
      text: string;
      label: string;
      id: string;
    };
    answer: {
      classId: string;
      observations: number;
    } | {
      results: ({
        classId: string;
        observations: number;
      })[];
    } | {
      trained: number;
      skipped: number;
      faults: ({
        line: number;
        detail: string;
      })[];
    } | {
      jobId: string;
    };
  };
  /** Predict a label */
  'POST /v1/classifiers/{classifierId}/predict': {
    path: {
      classifierId: string;
    };
    body: {
      context?: string | undefined;
      contexts?: string[] | undefined;
      options?: {
        top?: number | undefined;
      } | undefined;
    };
    answer: {
      classId: string;
      label: string;
      confidence: number;
      scores: ({
        classId: string;
        label: string;
        confidence: number;
      })[];
      otherScore: number;
    } | {
      predictions: ({
        classId: string;
        label: string;
        confidence: number;
        scores: ({
          classId: string;
          label: string;
          confidence: number;
        })[];
        otherScore: number;
      })[];
    };
  };
  /** Delete a class */
  'DELETE /v1/classifiers/{classifierId}/classes/{classId}': {
    path: {
      classifierId: string;
      classId: string;
    };
    body?: {
      context?: Json | undefined;
    } | undefined;
    answer: Record<string, never>;
  };
  /** Accuracy and calibration, in total and by class */
  'GET /v1/classifiers/{classifierId}/evaluation': {
    path: {
      classifierId: string;
    };
    answer: {
      examples: number;
      accuracy: number | null;
      calibrationError: number | null;
      classes: ({
        classId: string;
        label: string;
        support: number;
        precision: number | null;
        recall: number | null;
      })[];
      confusion: {
        classes: ({
          classId: string;
          label: string;
        })[];
        counts: (number[])[];
      };
      recent: {
        examples: number;
        accuracy: number | null;
        calibrationError: number | null;
        classes: ({
          classId: string;
          label: string;
          support: number;
          precision: number | null;
          recall: number | null;
        })[];
        confusion: {
          classes: ({
            classId: string;
            label: string;
          })[];
          counts: (number[])[];
        };
      };
      curve: ({
        examples: number;
        window: number;
        accuracy: number;
        meanConfidence: number;
      })[];
    };
  };
  /** List the examples of a classifier */
  'GET /v1/classifiers/{classifierId}/examples': {
    path: {
      classifierId: string;
    };
    query?: {
      after?: string | undefined;
      limit?: number | undefined;
      label?: string | undefined;
      sort?: "uncertain" | undefined;
      queryId?: string | undefined;
      text?: string | undefined;
      context?: string | undefined;
    } | undefined;
    answer: ({
      exampleId: string;
      classId: string;
      label: string;
      context: string;
      trainedAt: string;
    } | {
      context: string;
      label: string;
      confidence: number;
      scores: ({
        classId: string;
        label: string;
        confidence: number;
      })[];
    })[];
  };
  /** Correct an example */
  'PUT /v1/classifiers/{classifierId}/examples/{exampleId}': {
    path: {
      classifierId: string;
      exampleId: string;
    };
    body: {
      label?: string | undefined;
      context?: string | undefined;
      /** Read-only: ignored. */
      exampleId?: Json | undefined;
      /** Read-only: ignored. */
      classId?: Json | undefined;
      /** Read-only: ignored. */
      trainedAt?: Json | undefined;
    };
    answer: {
      exampleId: string;
      classId: string;
      label: string;
      context: string;
      trainedAt: string;
    };
  };
  /** Delete an example */
  'DELETE /v1/classifiers/{classifierId}/examples/{exampleId}': {
    path: {
      classifierId: string;
      exampleId: string;
    };
    answer: Record<string, never>;
  };
  /** List the jobs, newest first */
  'GET /v1/jobs': {
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
    } | undefined;
    answer: ({
      jobId: string;
      classifierId: string;
      queryId: string;
      state: "queued" | "running" | "done" | "failed";
      rows: number;
      trained: number;
      corrected: number;
      skipped: number;
      nullIds: number;
      invalid: number;
      truncated: boolean;
      faults: ({
        row: number;
        detail: string;
      })[];
      error: {
        code: string;
        detail: string;
      } | null;
      createdAt: string;
      startedAt: string | null;
      endedAt: string | null;
    })[];
  };
  /** Get the progress of a job */
  'GET /v1/jobs/{jobId}': {
    path: {
      jobId: string;
    };
    answer: {
      jobId: string;
      classifierId: string;
      queryId: string;
      state: "queued" | "running" | "done" | "failed";
      rows: number;
      trained: number;
      corrected: number;
      skipped: number;
      nullIds: number;
      invalid: number;
      truncated: boolean;
      faults: ({
        row: number;
        detail: string;
      })[];
      error: {
        code: string;
        detail: string;
      } | null;
      createdAt: string;
      startedAt: string | null;
      endedAt: string | null;
    };
  };
  /** Stop a job and delete it */
  'DELETE /v1/jobs/{jobId}': {
    path: {
      jobId: string;
    };
    answer: Record<string, never>;
  };
  /** Summarize texts */
  'POST /v1/ai/summarize': {
    body: {
      context: Json;
      options?: {
        sentences?: number | undefined;
        maxWords?: number | undefined;
        language?: string | undefined;
      } | undefined;
    } | {
      queryId: string;
      context?: Record<string, Json> | null | undefined;
      text: string;
      options?: {
        sentences?: number | undefined;
        maxWords?: number | undefined;
        language?: string | undefined;
      } | undefined;
    };
    answer: {
      generated: string;
      generator: string;
      /** Set if a limit of the key or of the hub cut the rows of the query. */
      truncated?: true | undefined;
    };
  };
  /** Create a board */
  'POST /v1/boards': {
    body: {
      hubId: string;
      label: string;
      path?: string | null | undefined;
      cards: ({
        queryId?: string | undefined;
        path?: string | undefined;
        text?: string | undefined;
        label?: string | undefined;
        size?: "small" | "wide" | "large" | "full" | undefined;
        values?: Record<string, string | number | boolean | (string | number | boolean)[]> | undefined;
        presentation?: {
          chart?: Record<string, Json> | null | undefined;
          columns?: Record<string, Json> | Json[] | null | undefined;
        } | undefined;
      })[];
      values?: Record<string, string | number | boolean | (string | number | boolean)[]> | undefined;
      refreshMinutes?: number | null | undefined;
      /** Read-only: ignored. */
      boardId?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
    };
    answer: {
      boardId: string;
      hubId: string;
      label: string;
      path: string | null;
      cards: ({
        queryId?: string | undefined;
        path?: string | undefined;
        text?: string | undefined;
        label?: string | undefined;
        size?: "small" | "wide" | "large" | "full" | undefined;
        values?: Record<string, Json> | undefined;
        presentation?: Record<string, Json> | undefined;
      })[];
      values: Record<string, Json>;
      refreshMinutes: number | null;
      createdAt: string;
      updatedAt: string | null;
    };
  };
  /** List the boards of a hub */
  'GET /v1/boards': {
    query: {
      hubId: string;
      offset?: number | undefined;
      limit?: number | undefined;
    };
    answer: ({
      boardId: string;
      hubId: string;
      label: string;
      path: string | null;
      cards: ({
        queryId?: string | undefined;
        path?: string | undefined;
        text?: string | undefined;
        label?: string | undefined;
        size?: "small" | "wide" | "large" | "full" | undefined;
        values?: Record<string, Json> | undefined;
        presentation?: Record<string, Json> | undefined;
      })[];
      values: Record<string, Json>;
      refreshMinutes: number | null;
      createdAt: string;
      updatedAt: string | null;
    })[];
  };
  /** Get a board */
  'GET /v1/boards/{boardId}': {
    path: {
      boardId: string;
    };
    answer: {
      boardId: string;
      hubId: string;
      label: string;
      path: string | null;
      cards: ({
        queryId?: string | undefined;
        path?: string | undefined;
        text?: string | undefined;
        label?: string | undefined;
        size?: "small" | "wide" | "large" | "full" | undefined;
        values?: Record<string, Json> | undefined;
        presentation?: Record<string, Json> | undefined;
      })[];
      values: Record<string, Json>;
      refreshMinutes: number | null;
      createdAt: string;
      updatedAt: string | null;
    };
  };
  /** Replace a board */
  'PUT /v1/boards/{boardId}': {
    path: {
      boardId: string;
    };
    body: {
      label: string;
      path?: string | null | undefined;
      cards: ({
        queryId?: string | undefined;
        path?: string | undefined;
        text?: string | undefined;
        label?: string | undefined;
        size?: "small" | "wide" | "large" | "full" | undefined;
        values?: Record<string, string | number | boolean | (string | number | boolean)[]> | undefined;
        presentation?: {
          chart?: Record<string, Json> | null | undefined;
          columns?: Record<string, Json> | Json[] | null | undefined;
        } | undefined;
      })[];
      values?: Record<string, string | number | boolean | (string | number | boolean)[]> | undefined;
      refreshMinutes?: number | null | undefined;
      /** Read-only: ignored. */
      hubId?: Json | undefined;
      /** Read-only: ignored. */
      boardId?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
    };
    answer: {
      boardId: string;
      hubId: string;
      label: string;
      path: string | null;
      cards: ({
        queryId?: string | undefined;
        path?: string | undefined;
        text?: string | undefined;
        label?: string | undefined;
        size?: "small" | "wide" | "large" | "full" | undefined;
        values?: Record<string, Json> | undefined;
        presentation?: Record<string, Json> | undefined;
      })[];
      values: Record<string, Json>;
      refreshMinutes: number | null;
      createdAt: string;
      updatedAt: string | null;
    };
  };
  /** Delete a board */
  'DELETE /v1/boards/{boardId}': {
    path: {
      boardId: string;
    };
    answer: Record<string, never>;
  };
  /** Create a watch */
  'POST /v1/watches': {
    body: {
      hubId: string;
      label: string;
      path?: string | null | undefined;
      queryId: string;
      context?: Record<string, Json> | null | undefined;
      schedule: {
        everyS?: number | undefined;
        cron?: string | undefined;
        timeZone?: string | undefined;
        spreadS?: number | undefined;
        missed?: "skip" | "once" | undefined;
      };
      /** always, new, changed, gone, failed, or a condition. */
      when: string | {
        column: string;
        is: "\u003e" | "\u003e=" | "\u003c" | "\u003c=" | "=" | "!=";
        value: number | string;
        forRuns?: number | undefined;
      };
      by?: string[] | undefined;
      include?: string[] | undefined;
      to?: string[] | undefined;
      paused?: boolean | undefined;
      /** Read-only: ignored. */
      watchId?: Json | undefined;
      /** Read-only: ignored. */
      pausedBecause?: Json | undefined;
      /** Read-only: ignored. */
      keyId?: Json | undefined;
      /** Read-only: ignored. */
      state?: Json | undefined;
      /** Read-only: ignored. */
      running?: Json | undefined;
      /** Read-only: ignored. */
      nextAt?: Json | undefined;
      /** Read-only: ignored. */
      lastRun?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
    };
    answer: {
      watchId: string;
      hubId: string;
      label: string;
      path: string | null;
      queryId: string;
      context: Record<string, Json>;
      schedule: {
        everyS?: number | undefined;
        cron?: string | undefined;
        timeZone?: string | undefined;
        spreadS?: number | undefined;
        missed: string;
      };
      when: string | Record<string, Json>;
      by: string[];
      include: string[];
      to: string[];
      paused: boolean;
      pausedBecause: string | null;
      keyId: string;
      state: "ok" | "firing" | "failing" | "unknown";
      running: boolean;
      nextAt: string | null;
      lastRun: {
        runId: string;
        watchId: string;
        hubId: string;
        dueAt: string;
        untilAt: string;
        ticks: number;
        manual: boolean;
        startedAt: string | null;
        endedAt: string;
        outcome: "ok" | "failed" | "skipped" | "missed" | "unknown";
        code: string | null;
        detail: string | null;
        rows: number | null;
        changes: {
          new: number;
          changed: number;
          gone: number;
        } | null;
        queryVersion: number | null;
        durationMs: number | null;
        eventId: string | null;
        hasRows: boolean;
      } | null;
      createdAt: string;
      updatedAt: string | null;
    };
  };
  /** List watches */
  'GET /v1/watches': {
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
      hubId?: string | undefined;
    } | undefined;
    answer: ({
      watchId: string;
      hubId: string;
      label: string;
      path: string | null;
      queryId: string;
      context: Record<string, Json>;
      schedule: {
        everyS?: number | undefined;
        cron?: string | undefined;
        timeZone?: string | undefined;
        spreadS?: number | undefined;
        missed: string;
      };
      when: string | Record<string, Json>;
      by: string[];
      include: string[];
      to: string[];
      paused: boolean;
      pausedBecause: string | null;
      keyId: string;
      state: "ok" | "firing" | "failing" | "unknown";
      running: boolean;
      nextAt: string | null;
      lastRun: {
        runId: string;
        watchId: string;
        hubId: string;
        dueAt: string;
        untilAt: string;
        ticks: number;
        manual: boolean;
        startedAt: string | null;
        endedAt: string;
        outcome: "ok" | "failed" | "skipped" | "missed" | "unknown";
        code: string | null;
        detail: string | null;
        rows: number | null;
        changes: {
          new: number;
          changed: number;
          gone: number;
        } | null;
        queryVersion: number | null;
        durationMs: number | null;
        eventId: string | null;
        hasRows: boolean;
      } | null;
      createdAt: string;
      updatedAt: string | null;
    })[];
  };
  /** Run a watch that is not stored, and tell nobody */
  'POST /v1/watches/try': {
    body: {
      hubId: string;
      label: string;
      path?: string | null | undefined;
      queryId: string;
      context?: Record<string, Json> | null | undefined;
      schedule: {
        everyS?: number | undefined;
        cron?: string | undefined;
        timeZone?: string | undefined;
        spreadS?: number | undefined;
        missed?: "skip" | "once" | undefined;
      };
      /** always, new, changed, gone, failed, or a condition. */
      when: string | {
        column: string;
        is: "\u003e" | "\u003e=" | "\u003c" | "\u003c=" | "=" | "!=";
        value: number | string;
        forRuns?: number | undefined;
      };
      by?: string[] | undefined;
      include?: string[] | undefined;
      to?: string[] | undefined;
      paused?: boolean | undefined;
      /** Read-only: ignored. */
      watchId?: Json | undefined;
      /** Read-only: ignored. */
      pausedBecause?: Json | undefined;
      /** Read-only: ignored. */
      keyId?: Json | undefined;
      /** Read-only: ignored. */
      state?: Json | undefined;
      /** Read-only: ignored. */
      running?: Json | undefined;
      /** Read-only: ignored. */
      nextAt?: Json | undefined;
      /** Read-only: ignored. */
      lastRun?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
    };
    answer: {
      outcome: "ok" | "failed";
      code: string | null;
      detail: string | null;
      rows: number | null;
      baseline: boolean;
      isMet: boolean | null;
      told: (Record<string, Json>)[];
    };
  };
  /** Get a watch */
  'GET /v1/watches/{watchId}': {
    path: {
      watchId: string;
    };
    answer: {
      watchId: string;
      hubId: string;
      label: string;
      path: string | null;
      queryId: string;
      context: Record<string, Json>;
      schedule: {
        everyS?: number | undefined;
        cron?: string | undefined;
        timeZone?: string | undefined;
        spreadS?: number | undefined;
        missed: string;
      };
      when: string | Record<string, Json>;
      by: string[];
      include: string[];
      to: string[];
      paused: boolean;
      pausedBecause: string | null;
      keyId: string;
      state: "ok" | "firing" | "failing" | "unknown";
      running: boolean;
      nextAt: string | null;
      lastRun: {
        runId: string;
        watchId: string;
        hubId: string;
        dueAt: string;
        untilAt: string;
        ticks: number;
        manual: boolean;
        startedAt: string | null;
        endedAt: string;
        outcome: "ok" | "failed" | "skipped" | "missed" | "unknown";
        code: string | null;
        detail: string | null;
        rows: number | null;
        changes: {
          new: number;
          changed: number;
          gone: number;
        } | null;
        queryVersion: number | null;
        durationMs: number | null;
        eventId: string | null;
        hasRows: boolean;
      } | null;
      createdAt: string;
      updatedAt: string | null;
    };
  };
  /** Update a watch */
  'PUT /v1/watches/{watchId}': {
    path: {
      watchId: string;
    };
    body: {
      label: string;
      path?: string | null | undefined;
      queryId: string;
      context?: Record<string, Json> | null | undefined;
      schedule: {
        everyS?: number | undefined;
        cron?: string | undefined;
        timeZone?: string | undefined;
        spreadS?: number | undefined;
        missed?: "skip" | "once" | undefined;
      };
      /** always, new, changed, gone, failed, or a condition. */
      when: string | {
        column: string;
        is: "\u003e" | "\u003e=" | "\u003c" | "\u003c=" | "=" | "!=";
        value: number | string;
        forRuns?: number | undefined;
      };
      by?: string[] | undefined;
      include?: string[] | undefined;
      to?: string[] | undefined;
      paused?: boolean | undefined;
      /** Read-only: ignored. */
      hubId?: Json | undefined;
      /** Read-only: ignored. */
      watchId?: Json | undefined;
      /** Read-only: ignored. */
      pausedBecause?: Json | undefined;
      /** Read-only: ignored. */
      keyId?: Json | undefined;
      /** Read-only: ignored. */
      state?: Json | undefined;
      /** Read-only: ignored. */
      running?: Json | undefined;
      /** Read-only: ignored. */
      nextAt?: Json | undefined;
      /** Read-only: ignored. */
      lastRun?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
    };
    answer: {
      watchId: string;
      hubId: string;
      label: string;
      path: string | null;
      queryId: string;
      context: Record<string, Json>;
      schedule: {
        everyS?: number | undefined;
        cron?: string | undefined;
        timeZone?: string | undefined;
        spreadS?: number | undefined;
        missed: string;
      };
      when: string | Record<string, Json>;
      by: string[];
      include: string[];
      to: string[];
      paused: boolean;
      pausedBecause: string | null;
      keyId: string;
      state: "ok" | "firing" | "failing" | "unknown";
      running: boolean;
      nextAt: string | null;
      lastRun: {
        runId: string;
        watchId: string;
        hubId: string;
        dueAt: string;
        untilAt: string;
        ticks: number;
        manual: boolean;
        startedAt: string | null;
        endedAt: string;
        outcome: "ok" | "failed" | "skipped" | "missed" | "unknown";
        code: string | null;
        detail: string | null;
        rows: number | null;
        changes: {
          new: number;
          changed: number;
          gone: number;
        } | null;
        queryVersion: number | null;
        durationMs: number | null;
        eventId: string | null;
        hasRows: boolean;
      } | null;
      createdAt: string;
      updatedAt: string | null;
    };
  };
  /** Delete a watch */
  'DELETE /v1/watches/{watchId}': {
    path: {
      watchId: string;
    };
    answer: Record<string, never>;
  };
  /** Run a watch now */
  'POST /v1/watches/{watchId}/run': {
    path: {
      watchId: string;
    };
    body?: Record<string, never> | undefined;
    answer: {
      runId: string;
    };
  };
  /** List the runs of all watches, newest first */
  'GET /v1/watches/runs': {
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
      hubId?: string | undefined;
      outcome?: "ok" | "failed" | "skipped" | "missed" | "unknown" | undefined;
    } | undefined;
    answer: ({
      runId: string;
      watchId: string;
      hubId: string;
      dueAt: string;
      untilAt: string;
      ticks: number;
      manual: boolean;
      startedAt: string | null;
      endedAt: string;
      outcome: "ok" | "failed" | "skipped" | "missed" | "unknown";
      code: string | null;
      detail: string | null;
      rows: number | null;
      changes: {
        new: number;
        changed: number;
        gone: number;
      } | null;
      queryVersion: number | null;
      durationMs: number | null;
      eventId: string | null;
      hasRows: boolean;
    })[];
  };
  /** List the runs of a watch, newest first */
  'GET /v1/watches/{watchId}/runs': {
    path: {
      watchId: string;
    };
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
      outcome?: "ok" | "failed" | "skipped" | "missed" | "unknown" | undefined;
    } | undefined;
    answer: ({
      runId: string;
      watchId: string;
      hubId: string;
      dueAt: string;
      untilAt: string;
      ticks: number;
      manual: boolean;
      startedAt: string | null;
      endedAt: string;
      outcome: "ok" | "failed" | "skipped" | "missed" | "unknown";
      code: string | null;
      detail: string | null;
      rows: number | null;
      changes: {
        new: number;
        changed: number;
        gone: number;
      } | null;
      queryVersion: number | null;
      durationMs: number | null;
      eventId: string | null;
      hasRows: boolean;
    })[];
  };
  /** Get a run */
  'GET /v1/watches/{watchId}/runs/{runId}': {
    path: {
      watchId: string;
      runId: string;
    };
    answer: {
      runId: string;
      watchId: string;
      hubId: string;
      dueAt: string;
      untilAt: string;
      ticks: number;
      manual: boolean;
      startedAt: string | null;
      endedAt: string;
      outcome: "ok" | "failed" | "skipped" | "missed" | "unknown";
      code: string | null;
      detail: string | null;
      rows: number | null;
      changes: {
        new: number;
        changed: number;
        gone: number;
      } | null;
      queryVersion: number | null;
      durationMs: number | null;
      eventId: string | null;
      hasRows: boolean;
    };
  };
  /** Get the rows that a run told */
  'GET /v1/watches/{watchId}/runs/{runId}/rows': {
    path: {
      watchId: string;
      runId: string;
    };
    answer: {
      data: (Record<string, Json>)[];
    };
  };
  /** List events, oldest first, after the one that the caller has; or the last ones, newest first */
  'GET /v1/events': {
    query?: {
      after?: string | undefined;
      newest?: "0" | "1" | "false" | "true" | undefined;
      limit?: number | undefined;
      hubId?: string | undefined;
      type?: "watch.ran" | "watch.rows" | "watch.firing" | "watch.resolved" | "watch.failed" | "watch.paused" | "destination.disabled" | "query.broken" | "query.mended" | "query.drifted" | "query.published" | "source.unreachable" | "source.reachable" | "key.expiring" | "job.ended" | undefined;
    } | undefined;
    answer: {
      events: ({
        eventId: string;
        type: "watch.ran" | "watch.rows" | "watch.firing" | "watch.resolved" | "watch.failed" | "watch.paused" | "destination.disabled" | "query.broken" | "query.mended" | "query.drifted" | "query.published" | "source.unreachable" | "source.reachable" | "key.expiring" | "job.ended";
        at: string;
        hubId: string | null;
        data: Record<string, Json>;
      })[];
      after: string | null;
    };
  };
  /** Create a destination */
  'POST /v1/destinations': {
    body: {
      label: string;
      url?: string | undefined;
      mailTo?: string | undefined;
      template?: "slack" | null | undefined;
      hubIds?: string[] | null | undefined;
      events?: ("watch.ran" | "watch.rows" | "watch.firing" | "watch.resolved" | "watch.failed" | "watch.paused" | "destination.disabled" | "query.broken" | "query.mended" | "query.drifted" | "query.published" | "source.unreachable" | "source.reachable" | "key.expiring" | "job.ended")[] | undefined;
      disabled?: boolean | undefined;
      /** Read-only: ignored. */
      destinationId?: Json | undefined;
      /** Read-only: ignored. */
      confirmedAt?: Json | undefined;
      /** Read-only: ignored. */
      disabledBecause?: Json | undefined;
      /** Read-only: ignored. */
      failingSince?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
    };
    answer: {
      destinationId: string;
      secret?: string | undefined;
    };
  };
  /** List destinations */
  'GET /v1/destinations': {
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
    } | undefined;
    answer: ({
      destinationId: string;
      label: string;
      kind: "webhook" | "mail";
      url?: string | undefined;
      mailTo?: string | undefined;
      confirmedAt?: string | null | undefined;
      template?: string | null | undefined;
      hubIds?: string[] | null | undefined;
      events?: string[] | undefined;
      disabled: boolean;
      disabledBecause?: string | null | undefined;
      failingSince?: string | null | undefined;
      createdAt?: string | undefined;
      updatedAt?: string | null | undefined;
    })[];
  };
  /** Get a destination */
  'GET /v1/destinations/{destinationId}': {
    path: {
      destinationId: string;
    };
    answer: {
      destinationId: string;
      label: string;
      kind: "webhook" | "mail";
      url?: string | undefined;
      mailTo?: string | undefined;
      confirmedAt?: string | null | undefined;
      template?: string | null | undefined;
      hubIds?: string[] | null | undefined;
      events?: string[] | undefined;
      disabled: boolean;
      disabledBecause?: string | null | undefined;
      failingSince?: string | null | undefined;
      createdAt?: string | undefined;
      updatedAt?: string | null | undefined;
    };
  };
  /** Update a destination */
  'PUT /v1/destinations/{destinationId}': {
    path: {
      destinationId: string;
    };
    body: {
      label: string;
      url?: string | undefined;
      mailTo?: string | undefined;
      template?: "slack" | null | undefined;
      hubIds?: string[] | null | undefined;
      events?: ("watch.ran" | "watch.rows" | "watch.firing" | "watch.resolved" | "watch.failed" | "watch.paused" | "destination.disabled" | "query.broken" | "query.mended" | "query.drifted" | "query.published" | "source.unreachable" | "source.reachable" | "key.expiring" | "job.ended")[] | undefined;
      disabled?: boolean | undefined;
      /** Read-only: ignored. */
      destinationId?: Json | undefined;
      /** Read-only: ignored. */
      confirmedAt?: Json | undefined;
      /** Read-only: ignored. */
      disabledBecause?: Json | undefined;
      /** Read-only: ignored. */
      failingSince?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      updatedAt?: Json | undefined;
    };
    answer: {
      destinationId: string;
      label: string;
      kind: "webhook" | "mail";
      url?: string | undefined;
      mailTo?: string | undefined;
      confirmedAt?: string | null | undefined;
      template?: string | null | undefined;
      hubIds?: string[] | null | undefined;
      events?: string[] | undefined;
      disabled: boolean;
      disabledBecause?: string | null | undefined;
      failingSince?: string | null | undefined;
      createdAt?: string | undefined;
      updatedAt?: string | null | undefined;
    };
  };
  /** Delete a destination */
  'DELETE /v1/destinations/{destinationId}': {
    path: {
      destinationId: string;
    };
    answer: Record<string, never>;
  };
  /** Replace the secret of a destination */
  'POST /v1/destinations/{destinationId}/rotate': {
    path: {
      destinationId: string;
    };
    body?: {
      overlapSeconds?: number | undefined;
    } | undefined;
    answer: {
      secret: string;
    };
  };
  /** Send a test to a destination */
  'POST /v1/destinations/{destinationId}/test': {
    path: {
      destinationId: string;
    };
    body?: Record<string, never> | undefined;
    answer: {
      deliveryId: string;
      destinationId: string;
      eventId: string | null;
      type: string;
      state: "pending" | "delivered" | "failed";
      attempts: number;
      nextAt: string | null;
      status: number | null;
      error: string | null;
      durationMs: number | null;
      createdAt: string;
      endedAt: string | null;
    };
  };
  /** Send all failed deliveries of a destination again */
  'POST /v1/destinations/{destinationId}/redeliver': {
    path: {
      destinationId: string;
    };
    body?: {
      since?: string | undefined;
    } | undefined;
    answer: {
      count: number;
    };
  };
  /** List deliveries, newest first */
  'GET /v1/deliveries': {
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
      destinationId?: string | undefined;
      state?: "pending" | "delivered" | "failed" | undefined;
    } | undefined;
    answer: ({
      deliveryId: string;
      destinationId: string;
      eventId: string | null;
      type: string;
      state: "pending" | "delivered" | "failed";
      attempts: number;
      nextAt: string | null;
      status: number | null;
      error: string | null;
      durationMs: number | null;
      createdAt: string;
      endedAt: string | null;
    })[];
  };
  /** Send a delivery again */
  'POST /v1/deliveries/{deliveryId}/redeliver': {
    path: {
      deliveryId: string;
    };
    body?: Record<string, never> | undefined;
    answer: {
      count: number;
    };
  };
  /** Create a key */
  'POST /v1/keys': {
    body: {
      name: string;
      scopes?: string[] | undefined;
      limits?: {
        hubIds?: string[] | undefined;
        queryIds?: string[] | undefined;
        /** Queries as `hub path/path`, or ids of queries. */
        queries?: string[] | undefined;
        classifierIds?: string[] | undefined;
        origins?: string[] | undefined;
        /** Pinned values of variables. ******** keeps a value that is not shown. */
        context?: Record<string, Json> | undefined;
        ratePerMinute?: number | undefined;
        maxRows?: number | undefined;
        strict?: boolean | undefined;
        user?: {
          issuer: string;
          audience: string;
          /** The address of the issuer’s keys, or the keys themselves. */
          jwks?: string | Record<string, Json> | undefined;
          /** The claim that each variable is pinned to. */
          claims: Record<string, string>;
          ratePerMinute?: number | undefined;
          public?: string[] | undefined;
        } | undefined;
      } | undefined;
      expiresAt?: string | null | undefined;
      /** Read-only: ignored. */
      keyId?: Json | undefined;
      /** Read-only: ignored. */
      lastCharacters?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      lastUsedAt?: Json | undefined;
      /** Read-only: ignored. */
      madeBy?: Json | undefined;
      /** Read-only: ignored. */
      personId?: Json | undefined;
    };
    answer: {
      keyId: string;
      name: string;
      scopes: string[];
      limits: {
        hubIds?: string[] | undefined;
        queryIds?: string[] | undefined;
        /** Queries as `hub path/path`, or ids of queries. */
        queries?: string[] | undefined;
        classifierIds?: string[] | undefined;
        origins?: string[] | undefined;
        /** Has ******** in place of values that are not shown. */
        context?: Record<string, Json> | undefined;
        ratePerMinute?: number | undefined;
        maxRows?: number | undefined;
        strict?: true | undefined;
        user?: {
          issuer: string;
          audience: string;
          /** The address of the issuer’s keys, or the keys themselves. */
          jwks?: string | Record<string, Json> | undefined;
          claims: Record<string, string>;
          ratePerMinute?: number | undefined;
          public?: string[] | undefined;
        } | undefined;
      };
      createdAt: string;
      expiresAt: string | null;
      /** Shown here and never again. */
      key: string;
    };
  };
  /** List keys */
  'GET /v1/keys': {
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
    } | undefined;
    answer: ({
      keyId: string;
      name: string;
      scopes?: string[] | undefined;
      limits?: {
        hubIds?: string[] | undefined;
        queryIds?: string[] | undefined;
        /** Queries as `hub path/path`, or ids of queries. */
        queries?: string[] | undefined;
        classifierIds?: string[] | undefined;
        origins?: string[] | undefined;
        /** Has ******** in place of values that are not shown. */
        context?: Record<string, Json> | undefined;
        ratePerMinute?: number | undefined;
        maxRows?: number | undefined;
        strict?: true | undefined;
        user?: {
          issuer: string;
          audience: string;
          /** The address of the issuer’s keys, or the keys themselves. */
          jwks?: string | Record<string, Json> | undefined;
          claims: Record<string, string>;
          ratePerMinute?: number | undefined;
          public?: string[] | undefined;
        } | undefined;
      } | undefined;
      createdAt?: string | undefined;
      expiresAt?: string | null | undefined;
      lastCharacters?: string | undefined;
      lastUsedAt?: string | null | undefined;
      state: "active" | "expired" | "paused" | "ended";
      /** What the limits take from the scopes. Absent if they take nothing. */
      withheld?: ({
        scope: string;
        limit: string;
        detail: string;
      })[] | undefined;
      /** The key or person that created it, with the name at that time. Absent for keys of operators and of older hubs, and for keys limited to hubs or queries, which see only that of keys they created. */
      madeBy?: {
        keyId: string;
        name: string;
      } | undefined;
      /** The person with whom the key ends. Absent for keys of the hub. */
      personId?: string | undefined;
    })[];
  };
  /** Get the id, the scopes and the names of the limits of the key of the request */
  'GET /v1/keys/current': {
    answer: {
      keyId: string;
      scopes: string[];
      limitedBy: string[];
    };
  };
  /** Change a key */
  'PUT /v1/keys/{keyId}': {
    path: {
      keyId: string;
    };
    body: {
      name?: string | undefined;
      limits?: {
        hubIds?: string[] | null | undefined;
        queryIds?: string[] | null | undefined;
        /** Queries as `hub path/path`, or ids of queries. */
        queries?: string[] | null | undefined;
        classifierIds?: string[] | null | undefined;
        origins?: string[] | null | undefined;
        /** Pinned values of variables. ******** keeps a value that is not shown. */
        context?: Record<string, Json> | null | undefined;
        ratePerMinute?: number | null | undefined;
        maxRows?: number | null | undefined;
        strict?: boolean | null | undefined;
        user?: {
          issuer: string;
          audience: string;
          /** The address of the issuer’s keys, or the keys themselves. */
          jwks?: string | Record<string, Json> | undefined;
          /** The claim that each variable is pinned to. */
          claims: Record<string, string>;
          ratePerMinute?: number | undefined;
          public?: string[] | undefined;
        } | null | undefined;
      } | undefined;
      expiresAt?: string | null | undefined;
      /** Null hands the key to the hub: it no longer ends with its person. Anything else is ignored. */
      personId?: string | null | undefined;
      /** Read-only: ignored. */
      keyId?: Json | undefined;
      /** Read-only: ignored. */
      lastCharacters?: Json | undefined;
      /** Read-only: ignored. */
      createdAt?: Json | undefined;
      /** Read-only: ignored. */
      lastUsedAt?: Json | undefined;
      /** Read-only: ignored. */
      madeBy?: Json | undefined;
    };
    answer: {
      keyId: string;
      name: string;
      scopes: string[];
      limits: {
        hubIds?: string[] | undefined;
        queryIds?: string[] | undefined;
        /** Queries as `hub path/path`, or ids of queries. */
        queries?: string[] | undefined;
        classifierIds?: string[] | undefined;
        origins?: string[] | undefined;
        /** Has ******** in place of values that are not shown. */
        context?: Record<string, Json> | undefined;
        ratePerMinute?: number | undefined;
        maxRows?: number | undefined;
        strict?: true | undefined;
        user?: {
          issuer: string;
          audience: string;
          /** The address of the issuer’s keys, or the keys themselves. */
          jwks?: string | Record<string, Json> | undefined;
          claims: Record<string, string>;
          ratePerMinute?: number | undefined;
          public?: string[] | undefined;
        } | undefined;
      };
      createdAt: string;
      expiresAt: string | null;
      lastCharacters: string;
      lastUsedAt: string | null;
      state: "active" | "expired" | "paused" | "ended";
      /** What the limits take from the scopes. Absent if they take nothing. */
      withheld?: ({
        scope: string;
        limit: string;
        detail: string;
      })[] | undefined;
      /** The key or person that created it, with the name at that time. Absent for keys of operators and of older hubs, and for keys limited to hubs or queries, which see only that of keys they created. */
      madeBy?: {
        keyId: string;
        name: string;
      } | undefined;
      /** The person with whom the key ends. Absent for keys of the hub. */
      personId?: string | undefined;
    };
  };
  /** Revoke a key */
  'DELETE /v1/keys/{keyId}': {
    path: {
      keyId: string;
    };
    answer: Record<string, never>;
  };
  /** Replace a key */
  'POST /v1/keys/{keyId}/rotate': {
    path: {
      keyId: string;
    };
    body?: {
      overlapSeconds?: number | undefined;
    } | undefined;
    answer: {
      keyId: string;
      name: string;
      scopes: string[];
      limits: {
        hubIds?: string[] | undefined;
        queryIds?: string[] | undefined;
        /** Queries as `hub path/path`, or ids of queries. */
        queries?: string[] | undefined;
        classifierIds?: string[] | undefined;
        origins?: string[] | undefined;
        /** Has ******** in place of values that are not shown. */
        context?: Record<string, Json> | undefined;
        ratePerMinute?: number | undefined;
        maxRows?: number | undefined;
        strict?: true | undefined;
        user?: {
          issuer: string;
          audience: string;
          /** The address of the issuer’s keys, or the keys themselves. */
          jwks?: string | Record<string, Json> | undefined;
          claims: Record<string, string>;
          ratePerMinute?: number | undefined;
          public?: string[] | undefined;
        } | undefined;
      };
      createdAt: string;
      expiresAt: string | null;
      lastCharacters: string;
      lastUsedAt: string | null;
      state: "active" | "expired" | "paused" | "ended";
      /** What the limits take from the scopes. Absent if they take nothing. */
      withheld?: ({
        scope: string;
        limit: string;
        detail: string;
      })[] | undefined;
      /** The key or person that created it, with the name at that time. Absent for keys of operators and of older hubs, and for keys limited to hubs or queries, which see only that of keys they created. */
      madeBy?: {
        keyId: string;
        name: string;
      } | undefined;
      /** The person with whom the key ends. Absent for keys of the hub. */
      personId?: string | undefined;
      /** Shown here and never again. */
      key: string;
      previousExpiresAt: string;
    };
  };
  /** Count the executions and the signed-in users of a key by day */
  'GET /v1/keys/{keyId}/usage': {
    path: {
      keyId: string;
    };
    answer: {
      keyId: string;
      from: string;
      to: string;
      count: number;
      failed: number;
      /** An estimate of the number of signed-in users. */
      users: number;
      days: ({
        day: string;
        count: number;
        failed: number;
        /** An estimate of the number of signed-in users. */
        users: number;
      })[];
      /** Set if the counts are of the last hours of today only. */
      truncated?: true | undefined;
    };
  };
  /** List the people who have signed in */
  'GET /v1/people': {
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
    } | undefined;
    answer: ({
      personId: string;
      name: string;
      /** Null if the provider has not verified it. */
      email: string | null;
      issuer: string;
      subject: string;
      groups: string[];
      /** Paused: the provider no longer knows the person, until the next sign-in. */
      state: "active" | "paused" | "disabled";
      roles: ({
        role: "viewer" | "editor" | "admin";
        /** Null for all hubs. */
        hubIds: string[] | null;
        /** How many more hubs are granted by name than the 200 that count. */
        hubsLeftOut: number;
      })[];
      createdAt: string;
      signedInAt: string;
      /** When the groups no longer count, if the person does not sign in. */
      groupsUntil: string;
    })[];
  };
  /** Get the person who is signed in, with roles and sessions */
  'GET /v1/people/current': {
    answer: {
      personId: string;
      name: string;
      /** Null if the provider has not verified it. */
      email: string | null;
      issuer: string;
      subject: string;
      groups: string[];
      /** Paused: the provider no longer knows the person, until the next sign-in. */
      state: "active" | "paused" | "disabled";
      roles: ({
        role: "viewer" | "editor" | "admin";
        /** Null for all hubs. */
        hubIds: string[] | null;
        /** How many more hubs are granted by name than the 200 that count. */
        hubsLeftOut: number;
      })[];
      createdAt: string;
      signedInAt: string;
      /** When the groups no longer count, if the person does not sign in. */
      groupsUntil: string;
      sessions: ({
        sessionId: string;
        createdAt: string;
        expiresAt: string;
        lastUsedAt: string;
      })[];
    };
  };
  /** Sign the person of the request out everywhere */
  'DELETE /v1/people/current/sessions': {
    query?: {
      agents?: "0" | "1" | "false" | "true" | undefined;
    } | undefined;
    answer: {
      count: number;
      /** The agents that ended, with `agents=true`. */
      agentCount: number;
    };
  };
  /** Disable or enable a person */
  'PUT /v1/people/{personId}': {
    path: {
      personId: string;
    };
    body: {
      disabled: boolean;
    };
    answer: {
      personId: string;
      name: string;
      /** Null if the provider has not verified it. */
      email: string | null;
      issuer: string;
      subject: string;
      groups: string[];
      /** Paused: the provider no longer knows the person, until the next sign-in. */
      state: "active" | "paused" | "disabled";
      roles: ({
        role: "viewer" | "editor" | "admin";
        /** Null for all hubs. */
        hubIds: string[] | null;
        /** How many more hubs are granted by name than the 200 that count. */
        hubsLeftOut: number;
      })[];
      createdAt: string;
      signedInAt: string;
      /** When the groups no longer count, if the person does not sign in. */
      groupsUntil: string;
    };
  };
  /** Remove a person */
  'DELETE /v1/people/{personId}': {
    path: {
      personId: string;
    };
    answer: Record<string, never>;
  };
  /** Sign a person out everywhere */
  'DELETE /v1/people/{personId}/sessions': {
    path: {
      personId: string;
    };
    query?: {
      agents?: "0" | "1" | "false" | "true" | undefined;
    } | undefined;
    answer: {
      count: number;
      /** The agents that ended, with `agents=true`. */
      agentCount: number;
    };
  };
  /** Give a role to a person or a group */
  'POST /v1/grants': {
    body: {
      /** One of: a group of the provider, an e-mail address that the provider has verified, the subject of a person. */
      who: {
        group?: string | undefined;
        email?: string | undefined;
        subject?: string | undefined;
      };
      role: "viewer" | "editor" | "admin";
      hubIds?: string[] | null | undefined;
    };
    answer: {
      grantId: string;
      /** One of: a group of the provider, an e-mail address that the provider has verified, the subject of a person. */
      who: {
        group?: string | undefined;
        email?: string | undefined;
        subject?: string | undefined;
      };
      role: "viewer" | "editor" | "admin";
      /** Null for all hubs. */
      hubIds: string[] | null;
      createdAt: string;
    };
  };
  /** List grants */
  'GET /v1/grants': {
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
    } | undefined;
    answer: ({
      grantId: string;
      /** One of: a group of the provider, an e-mail address that the provider has verified, the subject of a person. */
      who: {
        group?: string | undefined;
        email?: string | undefined;
        subject?: string | undefined;
      };
      role: "viewer" | "editor" | "admin";
      /** Null for all hubs. */
      hubIds: string[] | null;
      createdAt: string;
    })[];
  };
  /** Take a role away */
  'DELETE /v1/grants/{grantId}': {
    path: {
      grantId: string;
    };
    answer: Record<string, never>;
  };
  /** List the agents that act for the caller; for whoever may do all in the account, all agents */
  'GET /v1/agents': {
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
    } | undefined;
    answer: ({
      agentId: string;
      client: {
        clientId: string;
        /** As the client calls itself. */
        name: string;
        /** Where the client describes itself, or where its answers go. */
        host: string;
      };
      audience: "mcp" | "api";
      scopes: string[];
      /** Null for all hubs. */
      hubIds: string[] | null;
      /** The key or the person for whom it acts. */
      keyId: string;
      /** Null for a key of the hub. */
      person: {
        personId: string;
        name: string | null;
      } | null;
      createdAt: string;
      lastUsedAt: string;
      /** When it ends if nobody uses it. */
      expiresAt: string;
    })[];
  };
  /** Disconnect an agent */
  'DELETE /v1/agents/{agentId}': {
    path: {
      agentId: string;
    };
    answer: Record<string, never>;
  };
  /** Register a client of agents; its secret is returned only here */
  'POST /v1/clients': {
    body: {
      name: string;
      redirectUris: string[];
    };
    answer: {
      clientId: string;
      name: string;
      redirectUris: string[];
      /** True for a client that registered itself. */
      dynamic: boolean;
      createdAt: string;
      /** When it is removed if nobody uses it. Null for never. */
      expiresAt: string | null;
      /** No other answer contains it. */
      clientSecret: string;
    };
  };
  /** List registered clients of agents */
  'GET /v1/clients': {
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
    } | undefined;
    answer: ({
      clientId: string;
      name: string;
      redirectUris: string[];
      /** True for a client that registered itself. */
      dynamic: boolean;
      createdAt: string;
      /** When it is removed if nobody uses it. Null for never. */
      expiresAt: string | null;
    })[];
  };
  /** Delete a client, and disconnect its agents */
  'DELETE /v1/clients/{clientId}': {
    path: {
      clientId: string;
    };
    answer: Record<string, never>;
  };
  /** List who did what */
  'GET /v1/audit': {
    query?: {
      offset?: number | undefined;
      limit?: number | undefined;
      resourceId?: string | undefined;
      keyId?: string | undefined;
      personId?: string | undefined;
      action?: string | undefined;
      /** In UTC */
      day?: string | undefined;
    } | undefined;
    answer: ({
      entryId: string;
      at: string;
      /** The key, or the id of a person who was signed in. */
      keyId: string;
      /** The person who acted. Absent for keys of the hub. The name is null if the person was removed. */
      person?: {
        personId: string;
        name: string | null;
      } | undefined;
      action: string;
      resourceId: string;
      requestId: string | null;
      count: number;
      failed: number;
    })[];
  };
}
