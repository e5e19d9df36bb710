//! The view `top_sites`, which reads hours where a query does not use `jvms`: hours have all its other columns, and for
//! a month they are a fraction of the rows.
//!
//! Hours count only while they have exactly the minutes of their bucket ([`headway_store::Hours`]). So both plans give
//! the same rows.

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::TableType;
use datafusion::error::{DataFusionError, Result as Answer};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{ident, Expr, SessionContext};
use std::sync::Arc;

/// The view.
pub const NAME: &str = "top_sites";
/// The same from hours, without [`ONLY_MINUTES`].
const FROM_HOURS: &str = "top_sites_from_hours";
/// How many JVMs there were in several hours is not known from how many there were in each.
const ONLY_MINUTES: &str = "jvms";

/// See the module.
#[derive(Debug)]
pub struct TopSites {
    from_minutes: LogicalPlan,
    from_hours: LogicalPlan,
}

impl TopSites {
    /// From the two views of a session, which then has this one in place of the first.
    ///
    /// # Errors
    /// Only an error in Headway: a view is missing, or their columns are not alike.
    pub async fn replace(session: &SessionContext) -> Answer<()> {
        let [from_minutes, from_hours] =
            [session.table(NAME).await?, session.table(FROM_HOURS).await?].map(|view| view.into_unoptimized_plan());
        let columns = |plan: &LogicalPlan| {
            let fields = plan.schema().fields().iter().filter(|field| field.name() != ONLY_MINUTES);
            fields
                .map(|field| (field.name().clone(), field.data_type().clone(), field.is_nullable()))
                .collect::<Vec<_>>()
        };
        if columns(&from_minutes) != columns(&from_hours) {
            return Err(DataFusionError::Internal(format!("{NAME} and {FROM_HOURS} have other columns")));
        }
        session.deregister_table(NAME)?;
        session.register_table(NAME, Arc::new(TopSites { from_minutes, from_hours }))?;
        Ok(())
    }

    /// The plan for a query of these columns.
    fn plan(&self, columns: &[String], filters: &[Expr]) -> &LogicalPlan {
        let of_filters = filters.iter().flat_map(Expr::column_refs).map(|column| &column.name);
        match columns.iter().chain(of_filters).any(|name| name == ONLY_MINUTES) {
            true => &self.from_minutes,
            false => &self.from_hours,
        }
    }
}

#[async_trait]
impl TableProvider for TopSites {
    fn schema(&self) -> SchemaRef {
        self.from_minutes.schema().inner().clone()
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    /// Filters become a part of the view's query.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Answer<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Exact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Answer<Arc<dyn ExecutionPlan>> {
        let schema = self.schema();
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let asked = projection.unwrap_or(&all).iter().map(|place| schema.field(*place).name().clone());
        let asked: Vec<String> = asked.collect();
        let mut plan = LogicalPlanBuilder::from(self.plan(&asked, filters).clone());
        if let Some(filter) = filters.iter().cloned().reduce(Expr::and) {
            plan = plan.filter(filter)?;
        }
        plan = plan.project(asked.into_iter().map(ident))?;
        if limit.is_some() {
            plan = plan.limit(0, limit)?;
        }
        state.create_physical_plan(&plan.build()?).await
    }
}
