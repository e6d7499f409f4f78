/** The functions that people use most, by engine, as name and arguments. */

const common =
  'count(expression) sum(expression) avg(expression) min(expression) max(expression) coalesce(value,…) nullif(a,b) greatest(a,…) least(a,…) abs(x) ceil(x) floor(x) round(x,digits) power(a,b) sqrt(x) mod(a,b) lower(text) upper(text) trim(text) ltrim(text) rtrim(text) replace(text,from,to) concat(text,…) concat_ws(separator,text,…) left(text,n) right(text,n) lpad(text,length,fill) rpad(text,length,fill) reverse(text) repeat(text,n) char_length(text) position(part_IN_text) substring(text,start,length) row_number() rank() dense_rank() ntile(n) lag(value,offset,default) lead(value,offset,default) first_value(value) last_value(value) now()';
const postgres =
  'date_trunc(unit,timestamp) date_part(field,timestamp) age(timestamp,timestamp) make_date(year,month,day) to_char(value,format) to_date(text,format) to_timestamp(text,format) generate_series(start,stop,step) string_agg(text,separator) array_agg(expression) array_length(array,dimension) unnest(array) json_build_object(key,value,…) jsonb_build_object(key,value,…) jsonb_agg(expression) json_agg(expression) jsonb_array_elements(jsonb) jsonb_object_keys(jsonb) jsonb_path_query(jsonb,path) jsonb_set(target,path,value) row_to_json(record) split_part(text,delimiter,n) regexp_replace(text,pattern,replacement,flags) regexp_match(text,pattern) starts_with(text,prefix) initcap(text) strpos(text,part) md5(text) gen_random_uuid() percentile_cont(fraction) percentile_disc(fraction) bool_and(expression) bool_or(expression) width_bucket(x,low,high,count) to_tsvector(config,text) to_tsquery(config,query)';
const mysql =
  'date_format(date,format) str_to_date(text,format) date_add(date,INTERVAL_n_unit) date_sub(date,INTERVAL_n_unit) datediff(a,b) timestampdiff(unit,a,b) year(date) month(date) day(date) hour(time) last_day(date) unix_timestamp(date) from_unixtime(seconds) curdate() group_concat(expression) json_extract(json,path) json_unquote(json) json_object(key,value,…) json_array(value,…) json_arrayagg(expression) json_objectagg(key,value) json_contains(json,value,path) json_length(json,path) ifnull(value,other) if(condition,then,else) field(value,option,…) find_in_set(text,list) instr(text,part) locate(part,text,start) substring_index(text,delimiter,n) regexp_replace(text,pattern,replacement) format(x,digits) truncate(x,digits) uuid() md5(text) sha2(text,bits)';

export interface SqlFunction {
  name: string;
  parameters: string;
}

const parsed = (list: string): SqlFunction[] =>
  list.split(' ').map((one) => {
    const at = one.indexOf('(');
    return {
      name: one.slice(0, at),
      parameters: one
        .slice(at)
        .replaceAll('_IN_', ' IN ')
        .replaceAll('INTERVAL_n_unit', 'INTERVAL n unit')
        .replaceAll(',', ', '),
    };
  });

export const functionsOf = (engine: string): SqlFunction[] =>
  parsed(`${common} ${engine === 'postgres' ? postgres : mysql}`);
