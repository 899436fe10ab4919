package io.lanceyard.spark;

import java.util.Arrays;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Lets Spark know while it plans what the driver knows already.
 *
 * <p>Else it would start a job to give a count another name.
 */
final class Known extends Rule<LogicalPlan> {
  /** Adds the rule to those of the session that a catalog is used in, unless it is there. */
  static void add() {
    org.apache.spark.sql.classic.SparkSession session =
        (org.apache.spark.sql.classic.SparkSession) SparkSession.active();
    Seq<Rule<LogicalPlan>> rules = session.experimental().extraOptimizations();
    if (!rules.exists(rule -> rule instanceof Known)) {
      session.experimental().extraOptimizations_$eq(rules.appended(new Known()).toSeq());
    }
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    LogicalPlan known = (LogicalPlan) plan.transform(new Read());
    return known == plan ? plan : ConvertToLocalRelation.apply(known);
  }

  private static final class Read extends AbstractPartialFunction<LogicalPlan, LogicalPlan> {
    @Override
    public boolean isDefinedAt(LogicalPlan plan) {
      return plan instanceof DataSourceV2ScanRelation
          && ((DataSourceV2ScanRelation) plan).scan() instanceof Rows;
    }

    @Override
    @SuppressWarnings("unchecked")
    public <A extends LogicalPlan, B> B applyOrElse(A plan, Function1<A, B> otherwise) {
      if (!isDefinedAt(plan)) {
        return otherwise.apply(plan);
      }
      DataSourceV2ScanRelation relation = (DataSourceV2ScanRelation) (LogicalPlan) plan;
      Rows rows = (Rows) relation.scan();
      return (B) new LocalRelation(
          (Seq<Attribute>) (Seq<?>) relation.output(),
          CollectionConverters.asScala(Arrays.asList(rows.rows())).toSeq(),
          false,
          Option.empty());
    }
  }
}
