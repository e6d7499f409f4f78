/**
 * Walks a command by the grammar of MongoDB (filter, stage, expression, update, value), so that a variable can only
 * replace a value. Rejects what runs code at the server, and stages that write.
 */

import type { ExactNumber, Value } from '../values.ts';
import { constantText } from './constants.ts';
import { type ExtendedType, extendedTypes, type Form, isObject, ValueFault } from './extended-json.ts';
import { below, reject, type TemplateWriter, variableIn } from './template.ts';

type Members = Record<string, Value>;
export type Walk = (value: Value, pointer: string) => void;
type Walks = Record<string, Walk>;

/** Server-side JavaScript. */
const codeNames = new Set([
  ...['$where', '$function', '$accumulator'],
  // What a server makes of those for its shards.
  ...['$_internalJsEmit', '$_internalJsReduce'],
]);
const depthMax = 100;

/** What a clause of Atlas Search compares with. All else in it is a name, an operator or another clause. */
const searchValues = new Set([
  ...['query', 'value', 'gt', 'gte', 'lt', 'lte', 'origin', 'pivot', 'like', 'queryVector', 'vector'],
  ...['geometry', 'center', 'radius', 'bottomLeft', 'topRight', 'searchAfter', 'searchBefore'],
  ...['limit', 'numCandidates', 'k', 'threshold', 'slop', 'minimumShouldMatch'],
  ...['maxEdits', 'prefixLength', 'maxExpansions'],
]);

/** What a JSON Schema compares with. */
const schemaValues = new Set([
  ...['enum', 'minimum', 'maximum', 'multipleOf', 'minLength', 'maxLength', 'pattern'],
  ...['minItems', 'maxItems', 'minProperties', 'maxProperties'],
]);
const schemasByName = new Set(['properties', 'patternProperties', 'dependencies']);

export class CommandWalker {
  readonly #out: TemplateWriter;
  readonly #moved: ReadonlySet<string>;
  #depth = 0;

  /** `moved` are the members that have another place than in the text. */
  constructor(out: TemplateWriter, moved: ReadonlySet<string>) {
    this.#out = out;
    this.#moved = moved;
  }

  /** A constant of the query, without variables. */
  readonly fixed: Walk = (value, pointer) => {
    const name = variableIn(value);
    if (name !== undefined)
      throw reject(pointer, `is the variable :${name}, but must be a constant of the query`);
    this.#deep(value, pointer, this.fixed);
  };

  /** A value, of any depth. */
  readonly plain: Walk = (value, pointer) => this.#value(value, pointer, { form: 'plain', walk: this.plain });

  /** The fields of a sort, in their order. */
  readonly order: Walk = (value, pointer) => {
    const names = isObject(value) ? Object.keys(value) : [];
    const moved = names.length > 1 ? names.find((name) => this.#moved.has(name)) : undefined;
    if (moved !== undefined)
      throw reject(
        below(pointer, moved),
        'cannot stand there: the hub puts names that are whole numbers in front of others',
      );
    this.written(this.plain)(value, pointer);
  };

  /** A value that some versions of MongoDB take as an expression, and others do not. */
  readonly #operandValue: Walk = (value, pointer) =>
    this.#value(value, pointer, { form: 'operand', walk: this.#operandValue });

  /** An aggregation expression, in which a variable becomes a `$literal`. */
  readonly expression: Walk = (value, pointer) => {
    if (isObject(value) && Object.keys(value).length === 1 && Object.hasOwn(value, '$literal')) {
      this.#members(value, pointer, () => this.plain);
    } else if (isObject(value) && this.#extended(value) === undefined) {
      this.#members(value, pointer, (name) => this.#argument(name));
    } else this.#value(value, pointer, { form: 'literal', walk: this.expression });
  };

  #argument(operator: string): Walk {
    const { expressionOperators: known } = this;
    return (Object.hasOwn(known, operator) ? known[operator] : this.expression) as Walk;
  }

  /** The operators of an expression whose arguments are not all values, or for which MongoDB takes no `$literal`. */
  readonly expressionOperators: Walks = {
    ...this.#withParts(['$getField', '$setField', '$unsetField'], {
      input: this.expression,
      value: this.expression,
    }),
    ...this.#withParts(['$top', '$topN', '$bottom', '$bottomN', '$sortArray'], {
      ...{ input: this.expression, output: this.expression, n: this.expression },
      sortBy: this.order,
    }),
    ...this.#withParts(['$shift'], { output: this.expression, by: this.plain, default: this.expression }),
    ...this.#withParts(['$expMovingAvg'], { input: this.expression, N: this.plain, alpha: this.plain }),
    ...this.#withParts(['$derivative', '$integral'], { input: this.expression }),
    // Of a projection.
    $elemMatch: (value, pointer) => this.#elemMatch(value, pointer),
    // In a projection, one operand is a number; a list would be an expression.
    $slice: (value, pointer) => (Array.isArray(value) ? this.expression : this.fixed)(value, pointer),
  };

  readonly filter: Walk = (value, pointer) => {
    this.#members(this.#object(value, pointer, 'a filter'), pointer, (key) => this.#filterMember(key));
  };

  #filterMember(key: string): Walk {
    if (key === '$and' || key === '$or' || key === '$nor') return this.listOf(this.filter, 'filters');
    if (key === '$expr') return this.expression;
    if (key === '$jsonSchema') return this.#schema;
    return key.startsWith('$') ? this.written(this.plain) : this.#condition;
  }

  /** What a field is compared with: a value or operators. */
  readonly #condition: Walk = (value, pointer) => {
    if (!isObject(value) || this.#extended(value) !== undefined) return this.plain(value, pointer);
    this.#members(value, pointer, (operator) => {
      if (operator === '$not') return this.written(this.#condition);
      return operator === '$elemMatch' ? this.#elemMatch : this.#operand;
    });
  };

  readonly #elemMatch: Walk = (value, pointer) => {
    const members = this.#object(value, pointer, 'a filter');
    const logical = ['$and', '$or', '$nor'].some((name) => Object.hasOwn(members, name));
    (isOperators(members) && !logical ? this.#condition : this.filter)(members, pointer);
  };

  /** The elements of a list, such as that of `$all`, can be operators themselves. */
  readonly #operand: Walk = (value, pointer) => {
    if (Array.isArray(value)) this.#out.array(value, pointer, this.#condition);
    else this.plain(value, pointer);
  };

  readonly #schema: Walk = (value, pointer) =>
    this.#clause(value, pointer, (name) => {
      if (schemaValues.has(name)) return this.plain;
      return schemasByName.has(name) ? this.#schemasByName : this.#schema;
    });

  readonly #schemasByName: Walk = (value, pointer) => this.#clause(value, pointer, () => this.#schema);

  readonly #search: Walk = (value, pointer) =>
    this.#clause(value, pointer, (name) => {
      // The text of `queryString` has names and operators.
      if (name === 'path' || name === 'queryString') return this.fixed;
      if (name === 'facets') return this.#searchesByName;
      return searchValues.has(name) ? this.plain : this.#search;
    });

  readonly #searchesByName: Walk = (value, pointer) => this.#clause(value, pointer, () => this.#search);

  /** Objects and lists of which each member is walked by its name, and constants. */
  #clause(value: Value, pointer: string, walkOf: (name: string) => Walk): void {
    if (isObject(value)) this.#members(value, pointer, walkOf);
    else if (Array.isArray(value)) {
      this.#out.array(value, pointer, (member, at) =>
        this.#descend(() => this.#clause(member, at, walkOf), at),
      );
    } else this.written(this.fixed)(value, pointer);
  }

  readonly update: Walk = (value, pointer) => {
    if (Array.isArray(value)) return this.pipeline(value, pointer);
    const members = this.#object(value, pointer, 'an update');
    this.#members(members, pointer, (operator) => {
      if (!operator.startsWith('$')) return this.plain;
      if (operator === '$rename') return this.fixed;
      const walk = Object.hasOwn(this.#updates, operator) ? this.#updates[operator] : this.plain;
      return (fields, at) =>
        this.#members(this.#object(fields, at, 'fields and values'), at, () => walk as Walk);
    });
  };

  /** What is written for a field, if it is not always a value. */
  readonly #updates: Walks = {
    // A name of an operator, without a dollar sign.
    $bit: this.written(this.plain),
    $push: (value, pointer) => {
      if (!isObject(value) || !Object.hasOwn(value, '$each')) return this.plain(value, pointer);
      this.#parts(value, pointer, {
        $each: this.plain,
        $slice: this.plain,
        $position: this.plain,
        $sort: this.order,
      });
    },
    // An object is a filter of the elements.
    $pull: (value, pointer) => {
      const name = variableIn(value);
      if (name !== undefined) this.#out.placeholder({ variable: name, form: 'element' });
      else if (!isObject(value) || this.#extended(value) !== undefined) this.plain(value, pointer);
      else (isOperators(value) ? this.#condition : this.filter)(value, pointer);
    },
  };

  readonly pipeline: Walk = (value, pointer) => this.listOf(this.#stage, 'stages')(value, pointer);

  readonly #stage: Walk = (value, pointer) => {
    const stage = this.#object(value, pointer, 'a stage');
    const [name = '', ...more] = Object.keys(stage);
    if (name === '' || more.length > 0)
      throw reject(pointer, 'must have exactly one member, the name of the stage');
    this.#members(stage, pointer, () => this.#stageWalk(name, below(pointer, name)));
  };

  #stageWalk(name: string, pointer: string): Walk {
    if (name === '$out' || name === '$merge') {
      throw reject(
        pointer,
        'writes the result of the pipeline; the hub writes with insert, update and delete only',
      );
    }
    const known = Object.hasOwn(this.#stages, name) ? this.#stages[name] : undefined;
    if (known === undefined) throw reject(pointer, 'is not a stage that the hub runs');
    return known;
  }

  readonly #stages: Record<string, Walk> = {
    ...Object.fromEntries(
      ['$project', '$addFields', '$set', '$group', '$replaceRoot', '$replaceWith', '$bucket']
        .concat(['$sortByCount', '$redact', '$fill', '$documents'])
        .map((name) => [name, this.written(this.expression)]),
    ),
    ...Object.fromEntries(['$count', '$unwind', '$unset'].map((name) => [name, this.fixed])),
    ...Object.fromEntries(['$limit', '$skip'].map((name) => [name, this.plain])),
    $sort: this.order,
    $sample: this.written(this.plain),
    ...Object.fromEntries(['$search', '$searchMeta'].map((name) => [name, this.#search])),
    $match: this.filter,
    $facet: (value, at) => this.#members(this.#object(value, at, 'pipelines'), at, () => this.pipeline),
    $lookup: (value, at) => this.#parts(value, at, { pipeline: this.pipeline, let: this.expression }),
    $unionWith: (value, at) => this.#parts(value, at, { pipeline: this.pipeline }),
    $graphLookup: (value, at) =>
      this.#parts(value, at, {
        startWith: this.expression,
        restrictSearchWithMatch: this.filter,
        maxDepth: this.plain,
      }),
    // Numbers and dates, which MongoDB does not take as expressions.
    $bucketAuto: (value, at) =>
      this.#parts(value, at, { groupBy: this.expression, buckets: this.plain, output: this.expression }),
    $densify: (value, at) => this.#parts(value, at, { range: this.#densifiedRange }),
    $setWindowFields: (value, at) =>
      this.#parts(value, at, {
        partitionBy: this.expression,
        sortBy: this.order,
        output: this.#windowFields,
      }),
    $geoNear: (value, at) =>
      this.#parts(value, at, {
        query: this.filter,
        near: this.#operandValue,
        minDistance: this.#operandValue,
        maxDistance: this.#operandValue,
        distanceMultiplier: this.plain,
      }),
    $vectorSearch: (value, at) =>
      this.#parts(value, at, {
        filter: this.filter,
        queryVector: this.plain,
        limit: this.plain,
        numCandidates: this.plain,
      }),
  };

  readonly #densifiedRange: Walk = (value, pointer) =>
    this.#parts(value, pointer, {
      step: this.plain,
      // As a text it would be a keyword.
      bounds: (bounds, at) =>
        Array.isArray(bounds) ? this.#out.array(bounds, at, this.plain) : this.fixed(bounds, at),
    });

  readonly #windowFields: Walk = (value, pointer) =>
    this.#members(this.#object(value, pointer, 'fields'), pointer, () => (field, at) => {
      // Bounds of a window can be keywords.
      this.#members(this.#object(field, at, 'an operator'), at, (name) =>
        name === 'window' ? this.fixed : this.#argument(name),
      );
    });

  /** An object with no other members than these. */
  only(walks: Walks): Walk {
    return (value, pointer) =>
      this.#members(this.#object(value, pointer, 'an operation'), pointer, (key) => {
        if (Object.hasOwn(walks, key)) return walks[key] as Walk;
        throw reject(below(pointer, key), `is not one of ${Object.keys(walks).join(', ')}`);
      });
  }

  /** Members that are not in `walks` must be constants. */
  #parts(value: Value, pointer: string, walks: Walks): void {
    const walkOf = (key: string) => (Object.hasOwn(walks, key) ? (walks[key] as Walk) : this.fixed);
    if (isObject(value)) this.#members(value, pointer, walkOf);
    else this.fixed(value, pointer);
  }

  #withParts(operators: string[], walks: Walks): Walks {
    return Object.fromEntries(
      operators.map((operator): [string, Walk] => [
        operator,
        (value, pointer) => this.#parts(value, pointer, walks),
      ]),
    );
  }

  /** A list that is not itself a variable. */
  listOf(walk: Walk, what: string): Walk {
    return (value, pointer) => {
      if (!Array.isArray(value)) throw reject(pointer, `must be a list of ${what}, and cannot be a variable`);
      this.#out.array(value, pointer, (member, at) => this.#descend(() => walk(member, at), at));
    };
  }

  /** Anything but a variable, which would decide more than a value here. */
  written(walk: Walk): Walk {
    return (value, pointer) => {
      const name = variableIn(value);
      if (name !== undefined)
        throw reject(pointer, `is the variable :${name}, but only a constant can stand here`);
      walk(value, pointer);
    };
  }

  #object(value: Value, pointer: string, what: string): Members {
    if (!isObject(value)) throw reject(pointer, `must be an object (${what}), and cannot be a variable`);
    return value;
  }

  #members(members: Members, pointer: string, walkOf: (key: string) => Walk): void {
    const constant = constantText(members);
    if (constant instanceof ValueFault) throw reject(pointer, constant.detail);
    if (constant !== undefined) {
      this.#out.raw(constant);
      return;
    }
    this.#out.object(members, pointer, (key, at) => {
      if (codeNames.has(key)) throw reject(at, 'runs code at the server, which the hub does not allow');
      this.#descend(() => walkOf(key)(members[key] as Value, at), at);
    });
  }

  #descend(walk: () => void, pointer: string): void {
    if (++this.#depth > depthMax) throw reject(pointer, `is nested more than ${depthMax} levels deep`);
    walk();
    this.#depth--;
  }

  #value(value: Value, pointer: string, { form, walk }: { form: Form; walk: Walk }): void {
    const variable = variableIn(value);
    const typed = isObject(value) ? this.#extended(value) : undefined;
    if (variable !== undefined) this.#out.placeholder({ variable, form });
    else if (typed !== undefined) this.#out.placeholder({ ...typed, form });
    else this.#deep(value, pointer, walk);
  }

  #deep(value: Value, pointer: string, walk: Walk): void {
    if (isObject(value)) this.#members(value, pointer, () => walk);
    else if (Array.isArray(value)) {
      this.#out.array(value, pointer, (member, at) => this.#descend(() => walk(member, at), at));
    } else this.#out.scalar(value as Exclude<typeof value, object> | ExactNumber | null, pointer);
  }

  /** Such as `{"$oid": ":id"}`. */
  #extended(value: Members): { variable: string; type: ExtendedType } | undefined {
    const [type = '', ...more] = Object.keys(value);
    const variable = variableIn(value[type] as Value);
    return variable !== undefined && more.length === 0 && isExtendedType(type)
      ? { variable, type }
      : undefined;
  }
}

const isExtendedType = (name: string): name is ExtendedType =>
  (extendedTypes as readonly string[]).includes(name);

const isOperators = (value: Members) => Object.keys(value).some((key) => key.startsWith('$'));
